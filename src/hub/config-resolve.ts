import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative, resolve } from "node:path";
import { isDataObject, setOwn } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { CallError } from "../operation/index.ts";
import { type EnvReference, envReference, type HubConfig, type ResolvedConfig } from "./config.ts";
import { type ConfigProblem, findConfigProblems, formatPath } from "./config-check.ts";
import type { ConfigPath, ParsedText, TextPosition } from "./config-text.ts";

/** Variables of an environment by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

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
  const references = new References(folder, environment, expands);
  const config = references.replace(text.value, []);
  const problems = [...references.problems, ...findConfigProblems(config)];
  if (problems.length > 0) throw invalidConfig(file, problems, text.locate);
  return resolvePaths(config as ResolvedConfig, folder);
}

/** Maximum number of mistakes in a message. */
const maxListed = 20;

/** `VALIDATION_ERROR` with one line for each mistake: `file:line:column: message`. */
export function invalidConfig(
  file: string | undefined,
  problems: readonly ConfigProblem[],
  locate: ParsedText["locate"],
  cause?: unknown,
): CallError {
  const errors = problems.map(({ path, message, atKey }) => ({
    path: formatPath(path),
    message,
    ...locate(path, atKey),
  }));
  const lines = errors
    .slice(0, maxListed)
    .map(({ message, ...position }) => `${formatPlace(file, position)}${message}`);
  if (errors.length > maxListed) lines.push(`There are ${errors.length - maxListed} more mistakes.`);
  const details = { ...(file !== undefined && { file }), errors: errors.slice(0, maxListed), total: errors.length };
  return new CallError("VALIDATION_ERROR", lines.join("\n"), details, { mayHaveRun: false, cause });
}

function formatPlace(file: string | undefined, { line, column }: Partial<TextPosition>): string {
  if (file === undefined) return "";
  const shorter = relative(process.cwd(), file);
  const shown = shorter === "" || shorter.startsWith("..") ? file : shorter;
  return line === undefined ? `${shown}: ` : `${shown}:${line}:${column}: `;
}

/** Fields of sources in which JSON and YAML expand variables. */
const expandedFields = ["auth", "headers", "env", "url"];
/** Fields in which a variable that is not expanded would be used as an address or as a secret. */
const literalFields = ["openapi", "baseUrl", "servers", "sign", "connect"];
/** Kinds of sources whose fields are in an object of their own. */
const nestedKinds: readonly unknown[] = ["mcp", "nats", "redis", "websocket"];

/** Replaces variables by their values, once: a value is not expanded again. */
class References {
  readonly problems: ConfigProblem[] = [];
  readonly #folder: string;
  readonly #environment: Environment;
  readonly #expands: boolean;

  constructor(folder: string, environment: Environment, expands: boolean) {
    this.#folder = folder;
    this.#environment = environment;
    this.#expands = expands;
  }

  replace(value: unknown, path: ConfigPath): unknown {
    if (typeof value === "string") return this.#expands ? this.#expand(value, path) : value;
    if (Array.isArray(value)) return value.map((item, index) => this.replace(item, [...path, index]));
    if (!isDataObject(value)) return value;
    if (isReference(value)) return this.#read(value.env, path);
    const copy: Record<string, unknown> = {};
    for (const [key, member] of Object.entries(value)) setOwn(copy, key, this.replace(member, [...path, key]));
    return copy;
  }

  #expand(text: string, path: ConfigPath): string {
    if (!text.includes("${")) return text;
    const [root, , first, second] = path;
    const field = String(nestedKinds.includes(first) ? second : first);
    if (root !== "sources") return text;
    if (expandedFields.includes(field)) {
      return text.replace(/\$\{([^{}]*)\}/g, (_, reference: string) => this.#lookUp(reference, path));
    }
    if (literalFields.includes(field)) {
      const places = expandedFields.map((it) => quote(it)).join(", ");
      const message = `${quote(formatPath(path))} contains a variable, which is only expanded in ${places}. Use env() in operations.config.ts instead.`;
      this.problems.push({ path, message });
    }
    return text;
  }

  #lookUp(reference: string, path: ConfigPath): string {
    if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(reference)) return this.#read(reference, path);
    if (reference.startsWith("file:")) return this.#readFile(reference.slice(5), path);
    const message = `${quote(formatPath(path))} contains an invalid variable. Write \${NAME} or \${file:path}.`;
    this.problems.push({ path, message });
    return placeholder;
  }

  #read(name: string, path: ConfigPath): string {
    const value = Object.hasOwn(this.#environment, name) ? this.#environment[name] : undefined;
    if (value !== undefined) return value;
    const message = `The variable ${quote(name)} is not set, and ${quote(formatPath(path))} uses it. Set it in the environment.`;
    this.problems.push({ path, message });
    return placeholder;
  }

  #readFile(name: string, path: ConfigPath): string {
    try {
      return readFileSync(toPath(name, this.#folder), "utf8").replace(/\r?\n$/, "");
    } catch {
      const message = `The file ${quote(name)} cannot be read, and ${quote(formatPath(path))} uses it. Check that it exists.`;
      this.problems.push({ path, message });
      return placeholder;
    }
  }
}

/** Takes the place of a value that is missing, so that the check does not report it again. */
const placeholder = "missing";

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
