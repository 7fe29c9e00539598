import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { addAbortSignal } from "node:stream";
import { buffer } from "node:stream/consumers";
import { toBase64 } from "../internal/base64.ts";
import { nearest } from "../internal/nearest.ts";
import { isObject, type JSONObject, setOwn } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import type { CommandOptions } from "./command.ts";
import { fileError, usageError } from "./failures.ts";
import { coerce, describesOthers, parseNumbers, propertyNames, propertyOf } from "./input-schema.ts";

/** Options of the commands that pass input to an operation. */
export const inputOptions = {
  input: {
    type: "string",
    value: "JSON|@FILE|-",
    description: "Input as JSON: inline, from a file, or from stdin. KEY=VALUE replaces parts of it.",
  },
} as const satisfies CommandOptions;

/** The arguments from which input is built. */
export interface InputArguments {
  /** The value of `--input`. */
  readonly input: string | undefined;
  /** Arguments `key=value`, `key:=json` and `key@=file`. */
  readonly pairs: readonly string[];
  /** Paths are relative to this folder. */
  readonly folder: string;
  /** Ends reading from stdin. */
  readonly signal: AbortSignal;
}

const pairPattern = /^([^=]+?)(:=|@=|=)(.*)$/s;

/**
 * Builds the input of an operation. The schema decides about the type of `key=value`. Returns `undefined` if there is
 * neither `--input` nor a pair.
 */
export async function readInput({ input, pairs, ...place }: InputArguments, schema: unknown): Promise<unknown> {
  const base = input === undefined ? undefined : await readBase(input, place);
  if (pairs.length === 0) return base;
  if (base !== undefined && !isObject(base)) {
    throw usageError("The value of --input is not an object, so KEY=VALUE arguments cannot be added to it.");
  }
  const result: JSONObject = { ...base };
  const assigned = new Set<string>();
  for (const pair of pairs) {
    const [, key, operator, text = ""] = pairPattern.exec(pair) ?? [];
    if (key === undefined) {
      throw usageError(`The argument ${quote(pair)} is invalid. Pass KEY=VALUE, KEY:=JSON or KEY@=FILE.`);
    }
    if (assigned.has(key)) throw usageError(`The key ${quote(key)} is set twice. Pass a list as JSON: ${key}:='[…]'.`);
    assigned.add(key);
    const isJSON = operator === ":=";
    const read = operator === "@=" ? await readValue(text, place) : text;
    const value = isJSON ? parseJSON(text, `The value of ${quote(key)}`) : read;
    const toValue = (own: unknown) => (isJSON || typeof value !== "string" ? value : coerce(value, own, schema));
    assign(result, schema, key, toValue, schema);
  }
  return result;
}

/**
 * Returns a warning for each key that the schema does not describe: most schemas allow any property, so that a mistyped
 * key would be ignored. A schema that describes other properties, or none, has no unknown keys.
 */
export function describeUnknownKeys(pairs: readonly string[], schema: unknown): string {
  const known = propertyNames(schema, schema);
  const heads = pairs.map((pair) => headOf(pairPattern.exec(pair)![1]!, known));
  const unknown = known.length === 0 || describesOthers(schema) ? [] : heads.filter((head) => !known.includes(head));
  const warnings = unknown.map((head) => {
    const meant = nearest(head, known);
    return `warning: The key ${quote(head)} is not known.${meant === undefined ? "" : ` Did you mean ${quote(meant)}?`}\n`;
  });
  return warnings.join("");
}

/**
 * Sets the value of a key, and creates the objects on the path to it. A property with exactly this name wins over a path
 * with dots.
 * @param toValue returns the value for the schema of its property
 */
function assign(
  holder: JSONObject,
  schema: unknown,
  key: string,
  toValue: (schema: unknown) => unknown,
  root: unknown,
): void {
  const head = headOf(key, [...propertyNames(schema, root), ...Object.keys(holder)]);
  const own = propertyOf(schema, head, root);
  if (head === key) return setOwn(holder, head, toValue(own));
  const inner = Object.hasOwn(holder, head) ? holder[head] : {};
  if (!isObject(inner)) {
    throw usageError(`The key ${quote(key)} is a path through ${quote(head)}, which is not an object.`);
  }
  const copy = { ...inner };
  setOwn(holder, head, copy);
  assign(copy, own, key.slice(head.length + 1), toValue, root);
}

/** Returns the longest known name that a key begins with, or else the part before its first dot. */
function headOf(key: string, known: readonly string[]): string {
  const longestFirst = known.toSorted((a, b) => b.length - a.length);
  return longestFirst.find((name) => key === name || key.startsWith(`${name}.`)) ?? key.split(".", 1)[0]!;
}

async function readBase(input: string, place: Place): Promise<unknown> {
  if (input !== "-" && !input.startsWith("@")) return parseJSON(input, "The value of --input");
  const [path, what] = input === "-" ? ["-", "stdin"] : [input.slice(1), quote(input.slice(1))];
  return parseJSON(await readValue(path, place), `The content of ${what}`);
}

/** Where files are, and what ends reading. */
type Place = Pick<InputArguments, "folder" | "signal">;

/**
 * Reads a file, or stdin for `-`. Bytes that are not UTF-8 become an object with base64. A terminal is never read, because
 * no prompt shows that the command waits.
 */
async function readValue(path: string, { folder, signal }: Place): Promise<string | JSONObject> {
  if (path === "-" && process.stdin.isTTY) {
    throw usageError("The input is read from stdin, which is a terminal. Pipe the input.");
  }
  const reading = path === "-" ? buffer(addAbortSignal(signal, process.stdin)) : readFile(resolve(folder, path));
  const bytes = await reading.catch((error) => {
    throw fileError(path, "read", error);
  });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return { base64: toBase64(bytes), filename: basename(path) };
  }
}

function parseJSON(text: unknown, what: string): unknown {
  let parsed: ReturnType<typeof parseNumbers>;
  try {
    parsed = parseNumbers(text as string);
  } catch {
    throw usageError(`${what} is not JSON. Quote it for your shell, such as --input '{"title":"Ship it"}'.`);
  }
  if (!parsed.isRounded) return parsed.value;
  throw usageError(
    `${what} contains a number that JavaScript would round. Integers are exact up to ${Number.MAX_SAFE_INTEGER}. Pass a string if the operation takes one.`,
  );
}
