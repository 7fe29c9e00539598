import { readFile, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Jiti } from "jiti";

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
  const module = known === undefined ? importModule(url) : importAgain(url);
  const entry: LoadedModule = { module, hasFailed: false, version };
  loaded.set(url, entry);
  module.catch(() => {
    entry.hasFailed = true;
  });
  return module;
}

let jiti: Promise<Jiti> | undefined;

/**
 * Imports a module by its `file:` URL. Node loads JavaScript, and TypeScript if it supports it or if the application runs
 * with a loader for it, such as tsx, so that the application shares the module. Other TypeScript is transpiled.
 */
export async function importModule(url: string, load = importNatively): Promise<unknown> {
  try {
    return await load(url);
  } catch (error) {
    const { code } = (error ?? {}) as { code?: unknown };
    if (!isTypeScript(url) || !unsupportedCodes.has(code)) throw error;
  }
  jiti ??= loadJiti();
  return (await jiti).import(url);
}

/** Codes of Node for TypeScript that it does not support at all, or whose enums and similar syntax it cannot strip. */
const unsupportedCodes = new Set<unknown>(["ERR_UNKNOWN_FILE_EXTENSION", "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX"]);

function importNatively(url: string): Promise<unknown> {
  return import(/* @vite-ignore */ url);
}

let reloads = 0;

/**
 * Imports a module and its relative imports again. If a module has a top-level `await`, only the file itself is loaded
 * again, because Node has to load it and caches its imports.
 */
async function importAgain(url: string): Promise<unknown> {
  const uncached = await loadJiti(false);
  try {
    return uncached(fileURLToPath(url));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    reloads += 1;
    return isTypeScript(url) ? uncached.import(url) : import(/* @vite-ignore */ `${url}?reload=${reloads}`);
  }
}

function isTypeScript(url: string): boolean {
  return /\.m?ts$/.test(new URL(url).pathname);
}

async function loadJiti(moduleCache = true): Promise<Jiti> {
  const { createJiti } = await import("jiti");
  // Disable the cache on disk, which could be in a temporary directory that other users can write to.
  return createJiti(import.meta.url, { fsCache: false, moduleCache });
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
