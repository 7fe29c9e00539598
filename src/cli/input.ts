import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { addAbortSignal } from "node:stream";
import { toBase64 } from "../internal/base64.ts";
import { isObject, type JSONObject, setOwn } from "../internal/objects.ts";
import { quote, toReason } from "../internal/text.ts";
import type { CommandOptions } from "./command.ts";
import { usageError } from "./failures.ts";
import { coerce, propertyNames, propertyOf } from "./input-schema.ts";

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
    const { key, operator, text } = parsePair(pair);
    if (assigned.has(key)) throw usageError(`The key ${quote(key)} is set twice. Pass a list as JSON: ${key}:='[…]'.`);
    assigned.add(key);
    const { holder, name, schema: own } = locate(result, schema, key);
    const read = (content: string) => coerce(content, own, schema);
    if (operator === "=") setOwn(holder, name, read(text));
    else if (operator === ":=") setOwn(holder, name, parseJSON(text, `The value of ${quote(key)}`));
    else setOwn(holder, name, await readFileValue(text, place, read));
  }
  return result;
}

/** Where files are, and what ends reading. */
type Place = Pick<InputArguments, "folder" | "signal">;

type Operator = "=" | ":=" | "@=";

function parsePair(pair: string): { key: string; operator: Operator; text: string } {
  const [, key, operator, text] = /^([^=]+?)(:=|@=|=)(.*)$/s.exec(pair) ?? [];
  if (key !== undefined) return { key, operator: operator as Operator, text: text! };
  throw usageError(`The argument ${quote(pair)} is invalid. Pass KEY=VALUE, KEY:=JSON or KEY@=FILE.`);
}

/**
 * Finds the object that a key belongs to, and creates the objects on the path to it. A property with exactly this name
 * wins over a path with dots.
 */
function locate(
  root: JSONObject,
  rootSchema: unknown,
  key: string,
): { holder: JSONObject; name: string; schema: unknown } {
  let holder = root;
  let schema = rootSchema;
  let name = key;
  for (;;) {
    const head = headOf(name, new Set([...propertyNames(schema, rootSchema), ...Object.keys(holder)]));
    schema = propertyOf(schema, head, rootSchema);
    if (head === name) return { holder, name, schema };
    const inner = Object.hasOwn(holder, head) ? holder[head] : {};
    if (!isObject(inner)) {
      throw usageError(`The key ${quote(key)} is a path through ${quote(head)}, which is not an object.`);
    }
    const copy = { ...inner };
    setOwn(holder, head, copy);
    holder = copy;
    name = name.slice(head.length + 1);
  }
}

/** Returns the longest known name that a key begins with, or else the part before its first dot. */
function headOf(key: string, known: ReadonlySet<string>): string {
  if (known.has(key) || !key.includes(".")) return key;
  for (let end = key.lastIndexOf("."); end > 0; end = key.lastIndexOf(".", end - 1)) {
    if (known.has(key.slice(0, end))) return key.slice(0, end);
  }
  const end = key.indexOf(".", 1);
  return end === -1 || end === key.length - 1 ? key : key.slice(0, end);
}

/** Reads a file as a string that the schema converts. Bytes that are not UTF-8 are passed as base64. */
async function readFileValue(path: string, place: Place, read: (content: string) => unknown): Promise<unknown> {
  const bytes = await readBytes(path, place);
  const content = decode(bytes);
  return content === undefined ? { base64: toBase64(bytes), filename: basename(path) } : read(content);
}

async function readBase(input: string, place: Place): Promise<unknown> {
  if (input === "-") return parseJSON(decode(await readBytes("-", place)) ?? "", "The input from stdin");
  if (!input.startsWith("@")) return parseJSON(input, "The value of --input");
  return parseJSON(decode(await readBytes(input.slice(1), place)) ?? "", `The content of ${quote(input.slice(1))}`);
}

/** Reads a file, or stdin for `-`. A terminal is never read, because no prompt shows that the command waits. */
async function readBytes(path: string, { folder, signal }: Place): Promise<Uint8Array> {
  if (path !== "-") {
    return readFile(resolve(folder, path)).catch((error) => {
      throw usageError(`The file ${quote(path)} cannot be read: ${toReason(error)}.`);
    });
  }
  if (process.stdin.isTTY) throw usageError("The input is read from stdin, which is a terminal. Pipe the input.");
  const parts: Uint8Array[] = [];
  for await (const part of addAbortSignal(signal, process.stdin)) parts.push(part as Uint8Array);
  return Buffer.concat(parts);
}

/** Returns the text of UTF-8, without a byte order mark; `undefined` for other bytes. */
function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function parseJSON(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw usageError(`${what} is not JSON. Quote it for your shell, such as --input '{"title":"Ship it"}'.`);
  }
}
