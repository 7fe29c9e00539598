import { quote } from "../../internal/text.ts";
import { toFileURL } from "../../internal/urls.ts";
import { CallError, mapError } from "../../operation/index.ts";
import type { ScannerEntry, ScannerFS } from "./scanner-fs.ts";

/** A module that may hold operations. */
export interface ModuleFile {
  /** Below the scanned directory, with `/` between names. */
  path: string;
  url: string;
}

// A file system that follows symbolic links can be endless in depth and in number.
const maxDepth = 32;
const maxDirectories = 10_000;

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
    for (const { name, isFile, isDirectory } of await list(path, below)) {
      const where = below === "" ? name : `${below}/${name}`;
      if (!isPlainName(name)) skip(where, "has a name that is not that of a file in its directory");
      else if (isDirectory && isSourceDirectory(name)) await walk(`${path}/${name}`, where, depth + 1);
      else if (isFile && isModule(name)) found.push({ path: where, url: root + encodePath(where) });
    }
  }

  async function list(path: string, below: string): Promise<ScannerEntry[]> {
    const entries: ScannerEntry[] = [];
    try {
      for await (const entry of fs.readdir(path)) entries.push(entry);
    } catch (cause) {
      const { message } = mapError(cause);
      if (below === "")
        throw new CallError("EXECUTION_ERROR", `Cannot scan ${quote(path)}: ${message}`, undefined, { cause });
      skip(below, `cannot be read: ${message}`);
    }
    // By code units, so that every machine loads modules in the same order.
    return entries.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }

  await walk(directory.replace(/(?<=[^\\/])[\\/]+$/, ""), "", 0);
  return found;
}

function isSourceDirectory(name: string): boolean {
  return !name.startsWith(".") && name !== "node_modules" && name !== "__tests__";
}

function isModule(name: string): boolean {
  return /\.m?[jt]s$/.test(name) && !/^\.|\.(?:d|test|test-d|spec|bench)\.m?[jt]s$/.test(name);
}

function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** Nothing outside the scanned directory can be reached by such names. A lone surrogate cannot be written in a URL. */
function isPlainName(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && !/[\\/\p{Cs}]/u.test(name);
}
