import { toFileURL } from "../../internal/file-url.ts";
import { quote } from "../../internal/text.ts";
import { CallError, mapError } from "../../operation/index.ts";
import type { ScannerFS } from "./scanner-fs.ts";

/** A module that may hold operations. */
export interface ModuleFile {
  /** Below the scanned directory, with `/` between names. */
  path: string;
  url: string;
}

// A file system that follows symbolic links can be endless in depth and in number.
const maxDepth = 32;
const maxDirectories = 10_000;

const moduleName = /\.m?[jt]s$/;
const otherName = /\.(?:d|test|test-d|spec|bench)\.m?[jt]s$/;
const otherDirectories = new Set(["node_modules", "__tests__"]);

/**
 * Lists the modules below a directory in the order of their names. Leaves out declarations, tests, `node_modules` and
 * whatever begins with a dot. `skip` hears of directories that could not be read.
 */
export async function findModules(
  directory: string,
  fs: ScannerFS,
  skip: (where: string, reason: string) => void,
): Promise<ModuleFile[]> {
  const root = toFileURL(directory, fs.cwd()).href.replace(/\/*$/, "/");
  const found: ModuleFile[] = [];
  let directories = 0;

  async function walk(path: string, below: string, depth: number): Promise<void> {
    if (depth > maxDepth) return skip(below, `is nested more than ${maxDepth} directories deep`);
    if (++directories > maxDirectories) {
      if (directories === maxDirectories + 1) skip(below, `is beyond the first ${maxDirectories} directories`);
      return;
    }
    for (const entry of await list(path, below)) {
      const where = below === "" ? entry.name : `${below}/${entry.name}`;
      if (!isPlainName(entry.name)) skip(where, "has a name that is not that of a file in its directory");
      else if (entry.isDirectory && !otherDirectories.has(entry.name))
        await walk(`${path}/${entry.name}`, where, depth + 1);
      else if (entry.isFile && moduleName.test(entry.name) && !otherName.test(entry.name)) add(where);
    }
  }

  async function list(path: string, below: string) {
    const entries = [];
    try {
      for await (const entry of fs.readdir(path))
        if (!entry.name.startsWith(".") || !isPlainName(entry.name)) entries.push(entry);
    } catch (error) {
      const { message } = mapError(error);
      if (below === "") {
        throw new CallError("EXECUTION_ERROR", `Cannot scan ${quote(directory)}: ${message}`, undefined, {
          cause: error,
        });
      }
      skip(below, `cannot be read: ${message}`);
    }
    // By code units, so that every machine loads modules in the same order.
    return entries.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }

  function add(path: string): void {
    const url = new URL(path.split("/").map(encodeURIComponent).join("/"), root).href;
    if (url.startsWith(root)) found.push({ path, url });
    else skip(path, "is outside the scanned directory");
  }

  await walk(directory.replace(/(?<=[^\\/])[\\/]+$/, ""), "", 0);
  return found;
}

/** Whether a name stays in its directory and can be written in a URL, which a lone surrogate cannot. */
function isPlainName(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && !/[\\/\p{Cs}]/u.test(name);
}
