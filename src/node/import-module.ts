import { readFileSync } from "node:fs";
import { createRequire, Module } from "node:module";
import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";
import type { createJiti, ModuleCache } from "jiti";

const typeScript = /\.[cm]?tsx?$/;
const typeScriptOrLocal = /^(?!.*[\\/]node_modules[\\/]).*\.(?:[cm]?[jt]sx?|json)$/;

let transpiled: Promise<ModuleGraph> | undefined;

/**
 * Imports a module by its `file:` URL. Node loads JavaScript, and TypeScript if it supports it or if the application runs
 * with a loader for it, such as tsx, so that the application shares the module. Other TypeScript is transpiled.
 */
export async function importModule(url: string, load = importNatively): Promise<unknown> {
  try {
    return await load(url);
  } catch (error) {
    const { code } = (error ?? {}) as { code?: unknown };
    if (!typeScript.test(url) || !unsupportedCodes.has(code)) throw error;
  }
  transpiled ??= createGraph(typeScript);
  return (await transpiled).import(fileURLToPath(url));
}

/** Codes of Node for TypeScript that it does not support at all, or whose enums and similar syntax it cannot strip. */
const unsupportedCodes = new Set<unknown>(["ERR_UNKNOWN_FILE_EXTENSION", "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX"]);

function importNatively(url: string): Promise<unknown> {
  return import(/* @vite-ignore */ url);
}

/**
 * Imports a module and its relative imports again, by its `file:` URL. Node itself would return the old modules until
 * the process ends. It does so for packages, which the new modules share with the application.
 */
export async function reloadModule(url: string): Promise<unknown> {
  return (await createGraph(typeScriptOrLocal)).import(fileURLToPath(url));
}

async function createGraph(files: RegExp): Promise<ModuleGraph> {
  const { createJiti } = await import("jiti");
  return new ModuleGraph(createJiti, files);
}

/**
 * Modules that are transpiled and evaluated here, each once. These are the files that modules import by a relative path
 * and that match a pattern. Node loads all others.
 */
class ModuleGraph {
  readonly #createJiti: typeof createJiti;
  readonly #files: RegExp;
  /** Modules by path. A module is added before it is evaluated, so that cyclic imports find it. */
  readonly #modules: ModuleCache = {};
  readonly #imports = new Map<string, Promise<unknown>>();
  /** The paths of the modules that a module is waiting for. */
  readonly #waiting = new Map<string, Set<string>>();

  constructor(create: typeof createJiti, files: RegExp) {
    this.#createJiti = create;
    this.#files = files;
  }

  /** Imports a file. If it is waiting for its importer, returns the exports that exist so far, as Node does. */
  import(path: string, importer = ""): Promise<unknown> {
    if (this.#isWaiting(path, importer)) return Promise.resolve(this.#modules[path]?.exports);
    const pending = this.#imports.get(path) ?? this.#evaluateImport(path);
    this.#imports.set(path, pending);
    const waiting = this.#waiting.get(importer) ?? new Set();
    this.#waiting.set(importer, waiting.add(path));
    return pending.finally(() => waiting.delete(path));
  }

  #isWaiting(path: string, target: string): boolean {
    return path === target || [...(this.#waiting.get(path) ?? [])].some((next) => this.#isWaiting(next, target));
  }

  async #evaluateImport(path: string): Promise<unknown> {
    const source = readFileSync(path, "utf8");
    if (!isCommonJS(path, source)) return this.#evaluate(path, source, "import");
    const exports = this.#require(path);
    return { ...(exports as object), default: exports };
  }

  #require(path: string): unknown {
    if (this.#modules[path] === undefined) {
      const source = readFileSync(path, "utf8");
      if (path.endsWith(".json")) return JSON.parse(source);
      this.#evaluate(path, source, "require");
    }
    return this.#modules[path]?.exports;
  }

  #evaluate(path: string, source: string, mode: "import" | "require"): unknown {
    const load = (specifier: string) => {
      const url = jiti.esmResolve(specifier, { try: true });
      const isFile = url !== undefined && (/^\.\.?(?:\/|$)/.test(specifier) || isAbsolute(specifier));
      const file = isFile ? fileURLToPath(url) : "";
      if (this.#files.test(file)) return mode === "import" ? this.import(file, path) : this.#require(file);
      return mode === "import" ? importFrom(path, isFile ? url : specifier, url) : requireFrom(path, specifier);
    };
    const jiti = this.#createJiti(path, {
      fsCache: false, // It could be in a temporary directory that other users can write to.
      moduleCache: false,
      interopDefault: mode === "require" && !isCommonJS(path, source),
      virtualModules: new Proxy({}, { has: () => true, get: (_, specifier) => load(String(specifier)) }),
    });
    const options = { filename: path, cache: this.#modules, async: mode === "import", forceTranspile: true };
    return jiti.evalModule(source, options);
  }
}

/** Determines whether a file has neither `import` nor `export` declarations, but uses names of CommonJS. */
function isCommonJS(path: string, source: string): boolean {
  if (/\.(?:c[jt]s|json)$/.test(path)) return true;
  const hasDeclarations = /^\s*(?:import\s*(?:["'{*]|[\w$]+\s*(?:,|from\b)|type\b)|export\s*[{*\w])/m.test(source);
  return !hasDeclarations && /\b(?:require|exports)\b/.test(source);
}

/** Lets Node import a module for a file, so that it is resolved like any other import of that file. */
function importFrom(importer: string, specifier: string, url = specifier): Promise<unknown> {
  const context = new Module(importer) as Module & { _compile(code: string, path: string): void };
  context._compile("exports.import = (specifier) => import(specifier)", importer);
  return importModule(url, () => context.exports.import(specifier));
}

/** Lets Node load a module for a CommonJS file. What cannot be required is the target of an `import()`. */
function requireFrom(importer: string, specifier: string): unknown {
  try {
    return createRequire(importer)(specifier);
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code !== "ERR_PACKAGE_PATH_NOT_EXPORTED" && code !== "ERR_REQUIRE_ASYNC_MODULE") throw error;
    return importFrom(importer, specifier);
  }
}
