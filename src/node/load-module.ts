// biome-ignore lint/style/noRestrictedImports: the application chooses the path, and limits documents
import { opendir, readFile } from "node:fs/promises";
import type { ScannerFS } from "../from/modules/index.ts";
import { createReload, importModule } from "./import-module.ts";

/** The file system of Node, for `scanOperations` and `FromOpenAPIFile`. */
export interface NodeFileSystem extends Required<ScannerFS> {
  /** Reads a file as UTF-8. */
  readFile(path: string): Promise<string>;
}

/**
 * The file system of this machine. Symbolic links are not followed, so that a scan stays inside its directory and ends.
 * TypeScript modules load on every supported Node. The first import of a module shares it with the application. Each later
 * import loads it again, with its relative imports.
 */
export const nodeFileSystem: NodeFileSystem = {
  async *readdir(path) {
    for await (const entry of await opendir(path)) {
      yield { name: entry.name, isFile: entry.isFile(), isDirectory: entry.isDirectory() };
    }
  },
  cwd: () => process.cwd(),
  import: (url) => createLoad()(url),
  readFile: (path) => readFile(path, "utf8"),
};

/** The modules that Node has loaded, or has tried to load, and would not load again. */
const imported = new Set<string>();

/** Creates a function that imports modules as they are now. Modules that it loads again share their imports. */
export function createLoad(): (url: string) => Promise<unknown> {
  let reload: ReturnType<typeof createReload> | undefined;
  return (url) => {
    if (!imported.has(url)) {
      imported.add(url);
      return importModule(url);
    }
    reload ??= createReload();
    return reload(url);
  };
}
