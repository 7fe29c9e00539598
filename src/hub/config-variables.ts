import { homedir } from "node:os";
import { basename, join, resolve, sep } from "node:path";
import { getOwn, isDataObject, setOwn } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { isReference } from "./config.ts";
import { type ConfigPath, type ConfigProblem, maxDepth } from "./config-text.ts";
import { readBounded } from "./read-bounded.ts";

/** Variables of an environment by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where the values of variables come from. */
export interface VariableContext {
  /** Variables by name. */
  environment: Environment;
  /** Folder of the project, in which relative paths start. */
  folder: string;
}

/**
 * The syntax of variables in a file. `hub` has `${NAME}` and `${file:path}`, and no other reference is allowed. In files of
 * editors other references stay as they are: `vscode` has `${env:NAME}`, `${input:id}`, `${file:path}` and folders, `claude` adds
 * `${NAME}` and `${NAME:-default}`, `gemini` adds `$NAME` to these, and `codex` has no variables.
 */
export type VariableSyntax = "hub" | "claude" | "vscode" | "gemini" | "codex";

/** Thrown for a value that cannot be used. The message is a sentence without full stop. It contains names, never values. */
export class UnusableValue extends Error {}

/** Calls a function. If it throws {@link UnusableValue}, the reason is added to `problems`. */
export function collect<T>(problems: ConfigProblem[], path: ConfigPath, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof UnusableValue)) throw error;
    problems.push({ path, message: `${error.message}.` });
    return undefined;
  }
}

/** Copies arrays and data objects, with other values for what is in them. Throws {@link UnusableValue} if one contains itself. */
export function mapValues(
  value: unknown,
  path: ConfigPath,
  map: (value: unknown, path: ConfigPath) => unknown,
): unknown {
  if (path.length > maxDepth) throw new UnusableValue(`it is nested more than ${maxDepth} levels deep`);
  if (Array.isArray(value)) return value.map((item, index) => mapValues(item, [...path, index], map));
  if (!isDataObject(value) || isReference(value)) return map(value, path);
  const copy: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) setOwn(copy, key, mapValues(member, [...path, key], map));
  return copy;
}

const reference = /\$\{([^{}]*)\}/g;
const geminiReference = /\$(?:\{([^{}]*)\}|([A-Za-z_]\w*))/g;

/** Replaces the variables in a string once: their values are not expanded again. Throws {@link UnusableValue}. */
export function expandVariables(text: string, syntax: VariableSyntax, context: VariableContext): string {
  if (syntax === "codex") return text;
  return text.replace(syntax === "gemini" ? geminiReference : reference, (whole, inBraces?: string, bare?: string) =>
    inBraces === undefined ? readVariable(bare!, context) : (lookUp(inBraces, syntax, context) ?? whole),
  );
}

function lookUp(reference: string, syntax: VariableSyntax, context: VariableContext): string | undefined {
  if (reference.startsWith("file:")) return readTextFile(reference.slice(5), context);
  const [, name, preset] = /^([A-Za-z_]\w*)(?::-(.*))?$/s.exec(reference) ?? [];
  if (syntax === "hub") {
    if (name !== undefined && preset === undefined) return readVariable(name, context);
    throw new UnusableValue(`a variable is malformed. Write \${NAME} or \${file:path}`);
  }
  const { folder } = context;
  const folders = { workspaceFolder: folder, cwd: folder, workspaceFolderBasename: basename(folder) };
  const known = getOwn({ ...folders, pathSeparator: sep, "/": sep }, reference);
  if (typeof known === "string") return known;
  if (reference === "userHome") return readVariable(process.platform === "win32" ? "USERPROFILE" : "HOME", context);
  const [, kind, argument = "", fallback] = /^(env|input|config|command):(.*?)(?::-(.*))?$/s.exec(reference) ?? [];
  if (kind === "env") return readVariable(argument, context, fallback);
  if (kind === "input") return readInput(argument, context);
  if (kind !== undefined) {
    throw new UnusableValue(`only VS Code knows the value of ${quote(`\${${reference}}`)}. Use \${env:NAME} instead`);
  }
  return name === undefined || syntax === "vscode" ? undefined : readVariable(name, context, preset);
}

/** Returns a variable of the environment. As in a shell, a default also replaces an empty value. */
export function readVariable(name: string, { environment }: VariableContext, preset?: string): string {
  const value = getOwn(environment, name) as string | undefined;
  if (preset !== undefined) return value || preset;
  if (value === undefined)
    throw new UnusableValue(`the variable ${/^\w+$/.test(name) ? name : quote(name)} is not set`);
  return value;
}

/** Returns the content of a file without its last line break. */
export function readTextFile(path: string, { folder }: VariableContext): string {
  try {
    return readBounded(toPath(path, folder)).replace(/\r?\n$/, "");
  } catch {
    throw new UnusableValue("the file cannot be read. Check that it exists and is a file");
  }
}

/** Makes a path absolute; `~` is the home folder. */
export function toPath(path: string, folder: string): string {
  return /^~(?=$|[\\/])/.test(path) ? join(homedir(), path.slice(1)) : resolve(folder, path);
}

function readInput(id: string, { environment }: VariableContext): string {
  const value = getOwn(environment, inputVariable(id));
  if (typeof value === "string") return value;
  throw new UnusableValue(`the input ${quote(id)} is not set. Set the variable ${inputVariable(id)}`);
}

/** Returns the variable of the environment that has the value of an input, such as `OPERATIONS_INPUT_API_KEY`. */
export function inputVariable(id: string): string {
  return `OPERATIONS_INPUT_${id.toUpperCase().replace(/[^A-Z0-9]/g, "_")}`;
}
