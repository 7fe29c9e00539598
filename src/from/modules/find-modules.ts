import { quote } from "../../internal/text.ts";
import { CallError, mapError } from "../../operation/index.ts";
import { toFileURL } from "./file-url.ts";

/** One entry of a directory. */
export interface ScannerEntry {
  /** Name in its directory, without a path. */
  name: string;
  /** Whether it is a file. */
  isFile: boolean;
  /** Whether it is a directory. */
  isDirectory: boolean;
}

/** The file system that `scanOperations` reads. `@alkdev/operations/node` exports `nodeFileSystem`. */
export interface ScannerFS {
  /** Lists a directory. Entries that are neither files nor directories, such as symbolic links, are ignored. */
  readdir(path: string): AsyncIterable<ScannerEntry>;
  /** Returns the directory that relative paths are resolved against. */
  cwd(): string;
  /** Loads a module by its `file:` URL and returns its exports. @default the runtime's own `import()` */
  import?(url: string): Promise<unknown>;
}

/** A module that may export operations. */
export interface ModuleFile {
  /** Relative to the scanned directory, with `/` as separator. */
  path: string;
  url: string;
}

// Limits for file systems that follow symbolic links, which can be infinitely deep and large.
const maxDepth = 32;
const maxDirectories = 10_000;

/**
 * Lists the modules below a directory in the order of their names. Ignores declarations, tests, `node_modules` and
 * names that begin with a dot. `skip` receives the directories that cannot be read, and the reason.
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
    if (depth > maxDepth) return skip(below, `It is nested more than ${maxDepth} directories deep.`);
    if (++directories > maxDirectories) {
      if (directories === maxDirectories + 1) skip(below, `There are more than ${maxDirectories} directories.`);
      return;
    }
    for (const { name, isFile, isDirectory } of await list(path, below)) {
      const where = below === "" ? name : `${below}/${name}`;
      if (!isEntryName(name)) skip(where, "Its name is not a valid file name.");
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
      skip(below, `It cannot be read: ${message}`);
    }
    // Sort by code units, so that every machine loads modules in the same order.
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

/** Whether a name stays inside its directory and can be part of a URL. Lone surrogates cannot. */
function isEntryName(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && !/[\\/\p{Cs}]/u.test(name);
}
