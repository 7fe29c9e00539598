import { access, readFile } from "node:fs/promises";
import { basename, dirname, extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { getOwn } from "../internal/objects.ts";
import { quote, toReason } from "../internal/text.ts";
import { nodeFileSystem } from "../node/index.ts";
import { CallError } from "../operation/index.ts";
import type { ResolvedConfig } from "./config.ts";
import { type Environment, invalidConfig, resolveText } from "./config-resolve.ts";
import { locateInProgram, type ParsedText, parseJSONText, parseYAMLText, TextError } from "./config-text.ts";

/** Names of configuration files, in the order in which they are listed in messages. */
const configFileNames = ["ts", "js", "mjs", "json", "yaml", "yml"].map((it) => `operations.config.${it}`);

/** Extensions of configurations that run when they are loaded. */
const programExtensions = [".ts", ".mts", ".js", ".mjs"];

/** A configuration file that was read. */
export interface LoadedConfig {
  /** The checked configuration: variables have been replaced by their values, and paths are absolute. */
  config: ResolvedConfig;
  /** Absolute path of the file. */
  file: string;
  /** Absolute path of its folder. */
  folder: string;
}

/** Options of {@link loadConfig}. */
export interface LoadConfigOptions {
  /** Variables that the configuration may use. @default the environment of this process */
  environment?: Environment | undefined;
}

/**
 * Returns the path of the configuration in a folder, or `undefined` without one. Throws `VALIDATION_ERROR` if there are
 * two. Reads and runs nothing.
 */
export async function findConfig(folder: string): Promise<string | undefined> {
  const found: string[] = [];
  for (const name of configFileNames) {
    const path = resolve(folder, name);
    if (await exists(path)) found.push(path);
  }
  if (found.length < 2) return found[0];
  const [first, second] = found.map((path) => basename(path));
  throw invalid(`${quote(folder)} contains ${first} and ${second}. Delete one of them, or name one with --config.`);
}

/**
 * Reads a configuration file and checks it. A TypeScript or JavaScript file is run. In JSON and YAML, `${NAME}` and
 * `${file:path}` are expanded in `auth`, `headers`, `env` and `url` of sources. Throws `VALIDATION_ERROR` with the
 * position of each mistake. Messages never contain values of the file or of the environment.
 */
export async function loadConfig(path: string, options: LoadConfigOptions = {}): Promise<LoadedConfig> {
  const file = resolve(path);
  const folder = dirname(file);
  const text = isProgram(file) ? await runProgram(file) : await parse(file);
  return { config: resolveText(text, { ...options, file, folder }, !isProgram(file)), file, folder };
}

/** Returns whether a configuration is a program, which runs when it is loaded. */
export function isProgram(file: string): boolean {
  return programExtensions.includes(extname(file));
}

/** Reads a JSON or YAML configuration as it is written, without checking it. Variables stay as they are. */
export async function readConfigData(file: string): Promise<unknown> {
  return (await parse(file)).value;
}

async function parse(file: string): Promise<ParsedText> {
  const extension = extname(file);
  if (![".json", ".jsonc", ".yaml", ".yml"].includes(extension)) {
    throw invalid(
      `${quote(file)} is not a configuration. Its name must end with .ts, .js, .mjs, .json, .yaml or .yml.`,
    );
  }
  const text = await readText(file);
  try {
    return extension.startsWith(".json") ? parseJSONText(text) : parseYAMLText(text);
  } catch (error) {
    if (!(error instanceof TextError)) throw error;
    throw invalidConfig(file, [{ path: [], message: error.message }], () => error.position);
  }
}

async function runProgram(file: string): Promise<ParsedText> {
  const text = await readText(file);
  let module: unknown;
  try {
    module = await nodeFileSystem.import(pathToFileURL(file).href);
  } catch (error) {
    const [reason = ""] = toReason(error).split("\n"); // Further lines can contain parts of the file.
    const message = `It cannot be run: ${reason.replace(/\.$/, "")}.`;
    throw invalidConfig(file, [{ path: [], message }], () => undefined, error);
  }
  const value = getOwn(module, "default");
  if (value === undefined) {
    const message = "It has no default export. Write: export default defineConfig({ … })";
    throw invalidConfig(file, [{ path: [], message }], () => undefined);
  }
  return { value, locate: (path) => locateInProgram(text, path) };
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const message = `The configuration ${quote(file)} cannot be read: ${toReason(error)}. Check the path, or create one with "operations init".`;
    throw new CallError("VALIDATION_ERROR", message, { file }, { mayHaveRun: false, cause: error });
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function invalid(message: string): CallError {
  return new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
}
