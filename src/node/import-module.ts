// biome-ignore lint/style/noRestrictedImports: a module is run, so its path is trusted
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { createJiti, JitiOptions, ModuleCache } from "jiti";

/** Codes of Node for TypeScript that it does not support at all, or whose enums and similar syntax it cannot strip. */
const unsupportedCodes = new Set<unknown>(["ERR_UNKNOWN_FILE_EXTENSION", "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX"]);

/** A cache of files could be in a temporary directory that other users can write to. */
const options: JitiOptions = { fsCache: false };

/**
 * Imports a module by its `file:` URL. Node loads JavaScript, and TypeScript if it supports it or if the application runs
 * with a loader for it, such as tsx, so that the application shares the module. jiti transpiles other TypeScript.
 */
export async function importModule(url: string, load = importNatively): Promise<unknown> {
  try {
    return await load(url);
  } catch (error) {
    const { code } = (error ?? {}) as { code?: unknown };
    if (!/\.[cm]?tsx?$/.test(url) || !unsupportedCodes.has(code)) throw error;
  }
  const { createJiti } = await import("jiti");
  return createJiti(url, options).import(fileURLToPath(url));
}

function importNatively(url: string): Promise<unknown> {
  return import(/* @vite-ignore */ url);
}

/**
 * Creates a function that imports modules by their `file:` URLs, and their relative imports, as they are now. Node itself
 * would return the old modules until the process ends. It does so for packages, which the new modules share with the
 * application. Each file is evaluated once per function.
 */
export function createReload(): (url: string) => Promise<unknown> {
  // jiti lets Node import JavaScript, and evaluates it itself only where Node fails. The entry point of jiti does not
  // offer to set how Node imports a file, but the function behind it does.
  const { resolve } = createRequire(import.meta.url);
  const requireOfJiti = createRequire(resolve("jiti"));
  const create = requireOfJiti("../dist/jiti.cjs") as JitiWithContext;
  const transform: JitiOptions["transform"] = (source) => requireOfJiti("../dist/babel.cjs")(source);
  const cache: ModuleCache = {};
  return async (url) => {
    const path = fileURLToPath(url);
    if (cache[path]?.loaded !== true) {
      const jiti = create(path, { ...options, moduleCache: false, transform }, context);
      await jiti.evalModule(await readFile(path, "utf8"), { filename: path, cache, async: true, forceTranspile: true });
    }
    const { exports } = cache[path]!;
    return exports?.__esModule === true ? exports : { default: exports }; // The latter is CommonJS.
  };
}

type JitiWithContext = (
  ...args: [...Required<Parameters<typeof createJiti>>, typeof context]
) => ReturnType<typeof createJiti>;

const context = {
  createRequire,
  onError(error: unknown): never {
    throw error;
  },
  /** Imports a package or a builtin. Rejects for other files, so that jiti evaluates them. */
  async nativeImport(specifier: string): Promise<unknown> {
    const path = specifier.startsWith("file:") ? fileURLToPath(specifier) : specifier;
    if (!/^(?:[\\/]|[A-Za-z]:[\\/])/.test(path)) return import(/* @vite-ignore */ path);
    if (/[\\/]node_modules[\\/]/.test(path)) return import(/* @vite-ignore */ pathToFileURL(path).href);
    throw new Error(`${path} is evaluated here.`);
  },
};
