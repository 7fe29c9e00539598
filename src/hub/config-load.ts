import { existsSync } from "node:fs";
import { dirname, extname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { getOwn } from "../internal/objects.ts";
import { quote, toReason } from "../internal/text.ts";
import { nodeFileSystem } from "../node/index.ts";
import { CallError } from "../operation/index.ts";
import type { ResolvedConfig } from "./config.ts";
import { resolveText } from "./config-resolve.ts";
import { malformed, type ParsedText, parseText, readText } from "./config-text.ts";
import type { Environment } from "./config-variables.ts";

/** Names of configuration files, in the order in which they are listed in messages. */
const configFileNames = ["ts", "js", "mjs", "json", "yaml", "yml"].map((it) => `operations.config.${it}`);

/** Extensions of configurations that run when they are loaded. */
const programExtensions = [".ts", ".mts", ".js", ".mjs"];

/** Extensions of configurations that are data. */
const dataExtensions = [".json", ".jsonc", ".yaml", ".yml"];

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
  const [first, second] = configFileNames.filter((name) => existsSync(join(folder, name)));
  if (second === undefined) return first && resolve(folder, first);
  const message = `${quote(folder)} contains ${first} and ${second}. Delete one of them, or name one with --config.`;
  throw new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
}

/**
 * Reads a configuration file and checks it. A TypeScript or JavaScript file is run. In JSON and YAML, `${NAME}` and
 * `${file:path}` are expanded in `auth`, `headers`, `env` and `url` of sources. Throws `VALIDATION_ERROR` with all
 * mistakes and, in JSON and YAML, their positions. Messages never contain values of the file or of the environment.
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
  if (dataExtensions.includes(extname(file))) return parseText(file, await readText(file));
  const extensions = configFileNames.map(extname).join(", ");
  throw malformed(file, `must be a file whose name ends with one of ${extensions}.`);
}

async function runProgram(file: string): Promise<ParsedText> {
  await readText(file); // Its own error for a file that is missing or too large.
  const load = () => nodeFileSystem.import(pathToFileURL(file).href);
  let module: unknown;
  try {
    module = await load().catch((error) => {
      // Node does not report the line of a syntax error, and has run nothing. Transpiling the file reports it.
      if (error instanceof SyntaxError && findLine(error, file) === undefined) return load();
      throw error;
    });
  } catch (error) {
    const [reason = ""] = toReason(error).split("\n"); // Further lines can contain parts of the file.
    const isPackage = /^Cannot find (?:module|package) '[^./]/.test(reason);
    const advice = isPackage ? " Install the packages of the project: npm install" : "";
    const message = `cannot be run: ${reason.trim().replace(/[.:]$/, "")}.${advice}`;
    throw malformed(file, message, findLine(error, file), error);
  }
  const value = getOwn(module, "default");
  if (value === undefined) throw malformed(file, "has no default export. Write: export default defineConfig({ … })");
  return { value, locate: () => undefined };
}

/** Returns the line of a file in which an error occurred. Columns are those of transpiled code. */
function findLine(error: unknown, file: string): { line: number } | undefined {
  const { message, stack } = error as Error;
  const places = `${message}\n${stack}`.replaceAll(pathToFileURL(file).href, file).split(`${file}:`);
  const line = places
    .slice(1)
    .map((place) => Number.parseInt(place, 10))
    .find((number) => number > 0);
  return line === undefined ? undefined : { line };
}
