// biome-ignore lint/style/noRestrictedImports: the user names the file, which may be a pipe of the shell
import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { addAbortSignal } from "node:stream";
import { buffer } from "node:stream/consumers";
import { toBase64 } from "../internal/base64.ts";
import { nearest } from "../internal/nearest.ts";
import { isObject, type JSONObject, setOwn } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { modelOf, type Shape } from "../schema/model.ts";
import type { CommandOptions } from "./command.ts";
import { fileError, usageError } from "./failures.ts";

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
    const toValue = (shapes: readonly Shape[]) => (isJSON || typeof value !== "string" ? value : coerce(value, shapes));
    assign(result, [modelOf(schema).root], key, toValue);
  }
  return result;
}

/**
 * Converts the string of a `key=value` argument to the type that one of the shapes requires. The string itself wins if it is
 * allowed. Otherwise it is read as JSON. A string that is not allowed in either form is returned unchanged: the check of the
 * input then reports what is expected.
 */
export function coerce(text: string, shapes: readonly Shape[]): unknown {
  const admits = (value: unknown) => shapes.length === 0 || shapes.some((shape) => shape.admits(value));
  if (admits(text)) return text;
  try {
    const { value, isRounded } = parseNumbers(text);
    return !isRounded && (isObject(value) || admits(value)) ? value : text;
  } catch {
    return text;
  }
}

/**
 * Returns a warning for each key that the schema does not describe: most schemas allow any property, so that a mistyped
 * key would be ignored. A schema that describes other properties, or none, has no unknown keys.
 */
export function describeUnknownKeys(pairs: readonly string[], schema: unknown): string {
  if (pairs.length === 0) return "";
  const shapes = membersOf(modelOf(schema).root);
  const known = namesIn(shapes);
  if (known.length === 0 || shapes.some((shape) => shape.isOpen)) return "";
  const keys = pairs.map((pair) => pairPattern.exec(pair)![1]!);
  const warnings = keys.flatMap((key) => {
    const head = headOf(key, known);
    if (known.includes(head)) return [];
    const holder = known.find((name) => namesIn(propertyOf(shapes, name).flatMap(membersOf)).includes(head));
    const meant = holder === undefined ? nearest(head, known) : `${holder}.${key}`;
    return `warning: The key ${quote(head)} is not known.${meant === undefined ? "" : ` Did you mean ${quote(meant)}?`}\n`;
  });
  return warnings.join("");
}

/** Returns a shape, or the members of a union. */
function membersOf(shape: Shape): readonly Shape[] {
  return shape.kind === "union" ? shape.alternatives.flatMap((member) => membersOf(member.shape)) : [shape];
}

function namesIn(shapes: readonly Shape[]): string[] {
  return shapes.flatMap(({ properties }) => [...properties.keys()]);
}

/** Returns what a property may be; an empty list for one that is not described. */
export function propertyOf(shapes: readonly Shape[], name: string): Shape[] {
  return shapes
    .flatMap(membersOf)
    .filter((shape) => shape.properties.has(name) || shape.isOpen)
    .map((shape) => shape.property(name));
}

/**
 * Sets the value of a key, and creates the objects on the path to it. A property with exactly this name wins over a path
 * with dots.
 * @param toValue returns the value for what the property may be
 */
function assign(
  holder: JSONObject,
  shapes: readonly Shape[],
  key: string,
  toValue: (shapes: readonly Shape[]) => unknown,
): void {
  const head = headOf(key, [...namesIn(shapes.flatMap(membersOf)), ...Object.keys(holder)]);
  const own = propertyOf(shapes, head);
  if (head === key) return setOwn(holder, head, toValue(own));
  const inner = Object.hasOwn(holder, head) ? holder[head] : {};
  if (!isObject(inner)) {
    throw usageError(`The key ${quote(key)} is a path through ${quote(head)}, which is not an object.`);
  }
  const copy = { ...inner };
  setOwn(holder, head, copy);
  assign(copy, own, key.slice(head.length + 1), toValue);
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

/** Parses JSON. `isRounded`: whether it contains a number beyond 2^53, which may be rounded. Throws if it is malformed. */
function parseNumbers(text: string): { value: unknown; isRounded: boolean } {
  let isRounded = false;
  const value: unknown = JSON.parse(text, (_key, part: unknown) => {
    isRounded ||= typeof part === "number" && Math.abs(part) > Number.MAX_SAFE_INTEGER;
    return part;
  });
  return { value, isRounded };
}
