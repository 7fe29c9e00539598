import { readFile, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { importAnew, importModule } from "./import-module.ts";

interface LoadedModule {
  module: Promise<unknown>;
  failed: boolean;
  /** Which version of the files was loaded. */
  version: string;
}

const loaded = new Map<string, LoadedModule>();

/**
 * Imports a module by its `file:` URL. The first time it is the one that the application gets, too. After that a module
 * whose file, or any file that it imports by a relative path, has changed is loaded anew: Node would give the old one
 * for as long as the process lives.
 */
export async function loadModule(url: string): Promise<unknown> {
  const version = await versionOf(url);
  const known = loaded.get(url);
  if (known !== undefined && !known.failed && known.version === version) return known.module;
  const module = known === undefined ? importModule(url) : importAnew(url);
  const entry: LoadedModule = { module, failed: false, version };
  loaded.set(url, entry);
  module.catch(() => {
    entry.failed = true;
  });
  return module;
}

// A module that imports more than this is watched in part only.
const maxFiles = 1_000;

/** Says which version of a module there is: by the times and sizes of its file and of those that it imports. */
async function versionOf(url: string): Promise<string> {
  const seen = new Set<string>([url]);
  let version = "";
  for (const file of seen) {
    const state = await read(file);
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

async function read(url: string): Promise<{ text: string; changed: number; size: number } | undefined> {
  try {
    const path = fileURLToPath(url);
    const { mtimeMs, size } = await stat(path);
    return { text: await readFile(path, "utf8"), changed: mtimeMs, size };
  } catch {
    return undefined; // one of several candidates, or a module that is not there; importing it says so
  }
}

/** The relative paths that are imported, in any syntax. One that is in a comment does no harm. */
function* relativeImports(text: string): Iterable<string> {
  for (const match of text.matchAll(/(?:\bfrom|\bimport|\brequire)\s*\(?\s*["'](\.{1,2}\/[^"'\n]*)["']/g))
    yield match[1]!;
}

/** The files that a path can mean: TypeScript is imported as `.js`, and with translation also without an ending. */
function candidates(url: string): string[] {
  if (/\.m?js$/.test(url)) return [url, url.replace(/js$/, "ts")];
  return /\.[a-z]+$/.test(url) ? [url] : [url, `${url}.ts`, `${url}.js`, `${url}/index.ts`, `${url}/index.js`];
}
