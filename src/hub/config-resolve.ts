import { quote } from "../internal/text.ts";
import { type HubConfig, isReference, type ResolvedConfig } from "./config.ts";
import { findConfigProblems } from "./config-check.ts";
import { type ConfigPath, type ConfigProblem, invalidConfig, type ParsedText } from "./config-text.ts";
import {
  collect,
  type Environment,
  expandVariables,
  mapValues,
  readVariable,
  toPath,
  UnusableValue,
  type VariableContext,
} from "./config-variables.ts";

/** Options of {@link resolveConfig}. */
export interface ResolveConfigOptions {
  /** File that the configuration comes from, for messages. */
  file?: string | undefined;
  /** Folder that relative paths start from. @default the working directory of this process */
  folder?: string | undefined;
  /** Variables that the configuration may use. @default the environment of this process */
  environment?: Environment | undefined;
}

/**
 * Checks a configuration, replaces the variables by their values and makes paths absolute. Strings such as `${NAME}` are
 * kept, because only files in JSON and YAML expand them. Throws `VALIDATION_ERROR` with all mistakes. Messages never
 * contain values of the configuration or of the environment.
 */
export function resolveConfig(config: HubConfig, options: ResolveConfigOptions = {}): ResolvedConfig {
  return resolveText({ value: config, locate: () => undefined }, options);
}

/** Resolves the content of a file. `expands`: whether the file is JSON or YAML, whose strings contain variables. */
export function resolveText(text: ParsedText, options: ResolveConfigOptions, expands = false): ResolvedConfig {
  const { file, folder = process.cwd(), environment = process.env } = options;
  const context = { folder, environment };
  const problems: ConfigProblem[] = [];
  let config: unknown = {};
  collect(problems, [], () => {
    config = mapValues(text.value, [], (value, path) => {
      if (isReference(value)) return collect(problems, path, () => readVariable(value.env, context)) ?? missing;
      if (value instanceof Map || value instanceof Set) return null; // Without keys, the check would accept it.
      if (!expands || typeof value !== "string") return value;
      return collect(problems, path, () => expand(value, path, context)) ?? missing;
    });
  });
  const all = [
    ...problems.map(({ path, message }) => ({ path, message: `cannot be used: ${message}` })),
    ...findConfigProblems(config),
  ];
  if (all.length > 0) throw invalidConfig(file, all, text.locate);
  return resolvePaths(config as ResolvedConfig, folder);
}

/** Takes the place of a value that cannot be used, so that the check does not report it again. */
const missing = "missing";

/** Fields of sources in which JSON and YAML expand variables. */
const expandedFields = ["auth", "headers", "env", "url"];
/** Fields in which a variable that is not expanded would be used as an address or as a secret. */
const literalFields = ["openapi", "baseUrl", "servers", "sign", "connect"];
/** Kinds of sources whose fields are in an object of their own. */
const nestedKinds: readonly unknown[] = ["mcp", "nats", "redis", "websocket"];

function expand(text: string, [root, , first, second]: ConfigPath, context: VariableContext): string {
  const field = String(nestedKinds.includes(first) ? second : first);
  if (root !== "sources" || !text.includes("${")) return text;
  if (expandedFields.includes(field)) return expandVariables(text, context);
  if (!literalFields.includes(field)) return text;
  const places = expandedFields.map((it) => quote(it)).join(", ");
  throw new UnusableValue(`variables are only expanded in ${places}. Use env() in operations.config.ts instead`);
}

/** Makes the paths of a copy absolute. */
function resolvePaths(config: ResolvedConfig, folder: string): ResolvedConfig {
  const { sources = {}, history } = config;
  for (const source of Object.values(sources)) {
    if ("modules" in source) source.modules = toPath(source.modules, folder);
    if ("openapi" in source && !URL.canParse(source.openapi)) source.openapi = toPath(source.openapi, folder);
    if ("mcpConfig" in source) source.mcpConfig.file = toPath(source.mcpConfig.file, folder);
    if ("mcp" in source && source.mcp.command !== undefined) source.mcp.cwd = toPath(source.mcp.cwd ?? ".", folder);
  }
  if (history?.file !== undefined) history.file = toPath(history.file, folder);
  return config;
}
