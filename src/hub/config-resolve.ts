import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { isDataObject, setOwn } from "../internal/objects.ts";
import { CallError } from "../operation/index.ts";
import { type EnvReference, envReference, type HubConfig, type ResolvedConfig } from "./config.ts";

/** Variables of an environment by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Options of {@link resolveConfig}. */
export interface ResolveConfigOptions {
  /** File that the configuration comes from, for messages. */
  file?: string;
  /** Folder that relative paths start from. @default the working directory of this process */
  folder?: string;
  /** Variables that the configuration may use. @default the environment of this process */
  environment?: Environment;
}

/**
 * Checks a configuration, replaces the variables by their values and makes paths absolute. Throws `VALIDATION_ERROR` with
 * all mistakes. Messages never contain values of the configuration or of the environment.
 */
export function resolveConfig(config: HubConfig, options: ResolveConfigOptions = {}): ResolvedConfig {
  const { folder = process.cwd(), environment = process.env } = options;
  const resolved = replaceReferences(config, environment, []) as ResolvedConfig;
  return resolvePaths(resolved, folder);
}

function replaceReferences(value: unknown, environment: Environment, path: readonly string[]): unknown {
  if (Array.isArray(value))
    return value.map((item, index) => replaceReferences(item, environment, [...path, `${index}`]));
  if (!isDataObject(value)) return value;
  if (isReference(value)) {
    const name = value.env;
    const found = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (found === undefined) {
      throw new CallError("VALIDATION_ERROR", `${path.join(".")}: the variable ${name} is not set.`, undefined, {
        mayHaveRun: false,
      });
    }
    return found;
  }
  const copy: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value))
    setOwn(copy, key, replaceReferences(member, environment, [...path, key]));
  return copy;
}

function isReference(value: object): value is EnvReference {
  return (value as Partial<EnvReference>)[envReference] === true;
}

function resolvePaths(config: ResolvedConfig, folder: string): ResolvedConfig {
  const { sources, history } = config;
  return {
    ...config,
    ...(sources && {
      sources: Object.fromEntries(
        Object.entries(sources).map(([name, source]) => [name, resolveSource(source, folder)]),
      ),
    }),
    ...(history?.file !== undefined && { history: { ...history, file: toPath(history.file, folder) } }),
  };
}

type ResolvedSource = NonNullable<ResolvedConfig["sources"]>[string];

function resolveSource(source: ResolvedSource, folder: string): ResolvedSource {
  if ("modules" in source) return { ...source, modules: toPath(source.modules, folder) };
  if ("openapi" in source) {
    return URL.canParse(source.openapi) ? source : { ...source, openapi: toPath(source.openapi, folder) };
  }
  if ("mcpConfig" in source) {
    return { ...source, mcpConfig: { ...source.mcpConfig, file: toPath(source.mcpConfig.file, folder) } };
  }
  if ("mcp" in source && source.mcp.command !== undefined) {
    return { ...source, mcp: { ...source.mcp, cwd: toPath(source.mcp.cwd ?? ".", folder) } };
  }
  return source;
}

/** Makes a path absolute; `~` is the home folder. */
function toPath(path: string, folder: string): string {
  return /^~(?=$|[\\/])/.test(path) ? join(homedir(), path.slice(1)) : resolve(folder, path);
}
