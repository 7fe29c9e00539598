import { opendir, readFile, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { ScannerFS } from "../from/modules/index.ts";
import { importModule, reloadModule } from "./import-module.ts";

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

interface LoadedModule {
  module: Promise<unknown>;
  hasFailed: boolean;
  /** See {@link versionOf}. */
  version: string;
}

const loaded = new Map<string, LoadedModule>();

/**
 * Imports a module by its `file:` URL. The first import shares the module with the application. A later import loads it
 * again if its file, or a file that it imports by a relative path, has changed. Node itself would return the old module
 * until the process ends. `onFile` is called with the URL of each of these files before it is read, including
 * candidates that do not exist.
 */
export async function loadModule(url: string, onFile: (url: string) => void = () => {}): Promise<unknown> {
  const version = await versionOf(url, onFile);
  const known = loaded.get(url);
  if (known !== undefined && !known.hasFailed && known.version === version) return known.module;
  const module = known === undefined ? importModule(url) : reloadModule(url);
  const entry: LoadedModule = { module, hasFailed: false, version };
  loaded.set(url, entry);
  module.catch(() => {
    entry.hasFailed = true;
  });
  return module;
}

/** Maximum number of files per module that are checked for changes. */
const maxFiles = 1_000;

/** Identifies the version of a module by the times and sizes of its file and of its relative imports. */
async function versionOf(url: string, onFile: (url: string) => void): Promise<string> {
  const seen = new Set<string>([url]);
  let version = "";
  for (const file of seen) {
    onFile(file);
    const state = await readState(file);
    if (state === undefined) continue;
    version += `${file} ${state.changed} ${state.size}\n`;
    for (const specifier of relativeImports(state.text)) {
      for (const candidate of candidates(new URL(specifier, file).href)) {
        if (seen.size < maxFiles) seen.add(candidate);
      }
    }
  }
  return version;
}

async function readState(url: string): Promise<{ text: string; changed: number; size: number } | undefined> {
  try {
    const path = fileURLToPath(url);
    const { mtimeMs, size } = await stat(path);
    return { text: await readFile(path, "utf8"), changed: mtimeMs, size };
  } catch {
    return undefined; // The file is one of several candidates, or a missing module whose import fails.
  }
}

/** Returns the relative imports of a module, in any syntax. Imports inside comments are harmless. */
function* relativeImports(text: string): Iterable<string> {
  for (const match of text.matchAll(/(?:\bfrom|\bimport|\brequire)\s*\(?\s*["'](\.{1,2}\/[^"'\n]*)["']/g))
    yield match[1]!;
}

/**
 * Returns the files that a path can refer to. TypeScript is imported as `.js`, or without an extension if it is
 * transpiled.
 */
function candidates(url: string): string[] {
  if (/\.m?js$/.test(url)) return [url, url.replace(/js$/, "ts")];
  return /\.[a-z]+$/.test(url) ? [url] : [url, `${url}.ts`, `${url}.js`, `${url}/index.ts`, `${url}/index.js`];
}
