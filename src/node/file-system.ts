import { opendir, readFile } from "node:fs/promises";
import type { ScannerFS } from "../from/modules/index.ts";
import { loadModule } from "./load-module.ts";

/** The file system of Node, for `scanOperations` and `FromOpenAPIFile`. */
export interface NodeFileSystem extends Required<ScannerFS> {
  /** Reads a file as UTF-8. */
  readFile(path: string): Promise<string>;
}

/**
 * The file system of this machine. Symbolic links are not followed, so that a scan stays inside its directory and ends.
 * TypeScript modules load on every supported Node. A module is loaded once. It is loaded again, with its relative
 * imports, if one of these files has changed or if it could not be loaded before.
 */
export const nodeFileSystem: NodeFileSystem = {
  async *readdir(path) {
    for await (const entry of await opendir(path)) {
      yield { name: entry.name, isFile: entry.isFile(), isDirectory: entry.isDirectory() };
    }
  },
  cwd: () => process.cwd(),
  import: (url) => loadModule(url),
  readFile: (path) => readFile(path, "utf8"),
};
