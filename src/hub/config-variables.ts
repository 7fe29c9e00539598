import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { readBounded } from "../from/read-bounded.ts";
import { getOwn, isDataObject, setOwn } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { isReference } from "./config.ts";
import { type ConfigPath, type ConfigProblem, maxDepth } from "./config-text.ts";

/** Variables of an environment by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where the values of variables come from. */
export interface VariableContext {
  /** Variables by name. */
  environment: Environment;
  /** Folder of the project, in which relative paths start. */
  folder: string;
}

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

/**
 * Replaces the variables in a string of a configuration, `${NAME}` and `${file:path}`, once: their values are not expanded
 * again. Throws {@link UnusableValue}, also for other references.
 */
export function expandVariables(text: string, context: VariableContext): string {
  return text.replace(reference, (_, inBraces: string) => {
    if (inBraces.startsWith("file:")) return readTextFile(inBraces.slice(5), context);
    if (/^[A-Za-z_]\w*$/.test(inBraces)) return readVariable(inBraces, context);
    throw new UnusableValue(`a variable is malformed. Write \${NAME} or \${file:path}`);
  });
}

/**
 * Replaces the variables in a string of a file of an editor once: `${NAME}` and `${env:NAME}`, with a default after `:-`,
 * `${workspaceFolder}`, and `${input:id}`, whose value is in `OPERATIONS_INPUT_<ID>`. Throws {@link UnusableValue} for a
 * variable that is not set, and for a reference that only the editor can resolve.
 */
export function expandEditorVariables(text: string, context: VariableContext): string {
  return text.replace(reference, (whole, inBraces: string) => {
    if (inBraces === "workspaceFolder") return context.folder;
    const [, kind, name, preset] = /^(?:(\w+):(?!-))?(.*?)(?::-(.*))?$/s.exec(inBraces)!;
    if (kind === "env" || (kind === undefined && /^[A-Za-z_]\w*$/.test(name!))) {
      return readVariable(name!, context, preset);
    }
    if (kind === "input") return readVariable(inputVariable(name!), context);
    if (kind === undefined) return whole;
    throw new UnusableValue(`only the editor knows the value of ${quote(whole)}. Use \${env:NAME} instead`);
  });
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
function readTextFile(path: string, { folder }: VariableContext): string {
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

/** Returns the variable of the environment that has the value of an input, such as `OPERATIONS_INPUT_API_KEY`. */
function inputVariable(id: string): string {
  return `OPERATIONS_INPUT_${id.toUpperCase().replace(/[^A-Z0-9]/g, "_")}`;
}
