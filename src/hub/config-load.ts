import { access, readFile } from "node:fs/promises";
import { basename, dirname, extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parse as parseYAML } from "yaml";
import { getOwn } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { nodeFileSystem } from "../node/index.ts";
import { CallError } from "../operation/index.ts";
import type { HubConfig, ResolvedConfig } from "./config.ts";
import { type Environment, resolveConfig } from "./config-resolve.ts";
import { parseJSONC } from "./jsonc.ts";

/** Names of configuration files, in the order in which they are listed in messages. */
export const configFileNames = ["ts", "js", "mjs", "json", "yaml", "yml"].map((it) => `operations.config.${it}`);

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
  environment?: Environment;
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
 * Reads a configuration file and checks it. A TypeScript or JavaScript file is run. Throws `VALIDATION_ERROR` with the
 * position of each mistake. Messages never contain values of the file or of the environment.
 */
export async function loadConfig(path: string, options: LoadConfigOptions = {}): Promise<LoadedConfig> {
  const file = resolve(path);
  const folder = dirname(file);
  const config = (await read(file)) as HubConfig;
  return { config: resolveConfig(config, { ...options, file, folder }), file, folder };
}

/** Extensions of configurations that run when they are read. */
const programExtensions = [".ts", ".mts", ".js", ".mjs"];

/** Returns whether a configuration is a program, which runs when it is read. */
export function isProgram(file: string): boolean {
  return programExtensions.includes(extname(file));
}

/** Reads a JSON or YAML configuration as it is written, without checking it. Variables stay as they are. */
export async function readConfigData(file: string): Promise<unknown> {
  const text = await readFile(file, "utf8");
  return extname(file) === ".json" ? parseJSONC(text) : parseYAML(text);
}

async function read(file: string): Promise<unknown> {
  if (!isProgram(file)) return readConfigData(file);
  return getOwn(await nodeFileSystem.import(pathToFileURL(file).href), "default");
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
