import { fromBase64 } from "../../internal/base64.ts";
import { CallError, type CallErrorJSON, isCallError } from "../../operation/index.ts";
import { badFrame, createBinary, maxCollections, maxDigits, maxErrors, maxNumericKeys, tag } from "./wire-format.ts";

let errorsLeft = 0;
let collectionsLeft = 0;
let numericKeysLeft = 0;

/**
 * Replaces the tagged lists in parsed JSON with the values that they represent. Changes its argument. The depth limit
 * applies to the values, not to the message: a map is one level, although its entries are nested lists.
 */
export function fromTagged(value: unknown, depth: number): unknown {
  errorsLeft = maxErrors;
  collectionsLeft = maxCollections;
  numericKeysLeft = maxNumericKeys;
  return read(value, depth);
}

function read(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  const first = Array.isArray(value) ? value[0] : undefined;
  const name = typeof first === "string" && first.startsWith(tag.list) ? first : undefined;
  if (depth <= 0 && name !== tag.undefined && name !== tag.number && name !== tag.bigint)
    throw badFrame("it is nested too deeply");
  if (name !== undefined) return readTagged(name, value as unknown[], depth - 1);
  if (Array.isArray(value)) return readItems(value, 0, depth - 1);
  return readProperties(value as Record<string, unknown>, depth - 1);
}

function readProperties<T extends Record<string, unknown>>(object: T, depth: number): T {
  for (const key of Object.keys(object) as Array<keyof T>) {
    const before = object[key];
    const after = read(before, depth);
    // An own `__proto__` property hides the accessor, so it can be assigned like any other property.
    if (after !== before) object[key] = after as T[keyof T];
  }
  return object;
}

function readItems(list: unknown[], from: number, depth: number): unknown[] {
  for (let index = from; index < list.length; index++) list[index] = read(list[index], depth);
  return list;
}

function readTagged(name: string, list: unknown[], depth: number): unknown {
  switch (name) {
    case tag.list:
      return readItems(list, 1, depth).slice(1);
    case tag.undefined:
      return undefined;
    case tag.number:
      return readNumber(list[1]);
    case tag.bigint:
      return readBigInt(list[1]);
    case tag.date:
      return readDate(list[1]);
    case tag.bytes:
      return readBytes(list[1], list[2]);
    case tag.map:
      return readMap(list, depth);
    case tag.set:
      return new Set(countKeys(readItems(list, 1, depth).slice(1)));
    case tag.error:
      return readError(list[1], depth);
    default:
      throw badFrame("it has an unknown tag");
  }
}

function countKeys(keys: unknown[]): unknown[] {
  if (--collectionsLeft < 0) throw badFrame(`it has more than ${maxCollections} maps and sets`);
  for (const key of keys) if (typeof key === "number" || typeof key === "bigint") numericKeysLeft -= 1;
  if (numericKeysLeft < 0) throw badFrame(`more than ${maxNumericKeys} keys of its maps and sets are numbers`);
  return keys;
}

const numbers: ReadonlyMap<unknown, number> = new Map([
  ["-0", -0],
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);

function readNumber(text: unknown): number {
  const value = numbers.get(text);
  if (value === undefined) throw badFrame("a tagged number is a number that JSON can represent");
  return value;
}

function readBigInt(text: unknown): bigint {
  if (typeof text !== "string" || text.length > maxDigits || !/^-?\d+$/.test(text)) {
    throw badFrame("a tagged bigint has no digits, or too many");
  }
  return BigInt(text);
}

function readDate(time: unknown): Date {
  if (time !== null && typeof time !== "number") throw badFrame("a tagged date has no time");
  return new Date(time ?? Number.NaN);
}

function readBytes(kind: unknown, text: unknown): unknown {
  const bytes = typeof text === "string" ? fromBase64(text) : undefined;
  const value = bytes === undefined || typeof kind !== "string" ? undefined : createBinary(kind, bytes);
  if (value === undefined) throw badFrame("tagged bytes have no known kind, or are not base64 of whole elements");
  return value;
}

function readMap(list: unknown[], depth: number): Map<unknown, unknown> {
  const entries = list.slice(1).map((entry): [unknown, unknown] => {
    if (!Array.isArray(entry) || entry.length !== 2) throw badFrame("an entry of a tagged map is not a pair");
    return [read(entry[0], depth), read(entry[1], depth)];
  });
  countKeys(entries.map(([key]) => key));
  return new Map(entries);
}

const errorClasses: ReadonlyMap<unknown, new (message: string) => Error> = new Map(
  [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map((Class) => [Class.name, Class]),
);

function readError(content: unknown, depth: number): Error {
  if (--errorsLeft < 0) throw badFrame(`it has more than ${maxErrors} errors`);
  if (typeof content !== "object" || content === null || Array.isArray(content))
    throw badFrame("a tagged error is empty");
  const { name, message, ...rest } = readProperties(content as Record<string, unknown>, depth);
  if (typeof name !== "string" || typeof message !== "string") throw badFrame("a tagged error has no name or message");
  const error = withoutStack(() => createError(name, message, rest));
  // The stack of this function is not useful, and the sender's stack is not sent.
  hide(error, "stack", `${name}: ${message}`);
  if (isCallError(error)) return error;
  if (error.name !== name) hide(error, "name", name);
  for (const key of Object.keys(rest)) {
    if (key === "cause" || key === "errors") hide(error, key, rest[key]);
    else if (key !== "stack") Object.defineProperty(error, key, { ...hidden, value: rest[key], enumerable: true });
  }
  return error;
}

function createError(name: string, message: string, rest: Record<string, unknown>): Error {
  if (name === "CallError") return CallError.fromJSON({ ...rest, message } as CallErrorJSON);
  if (name === "AggregateError") return new AggregateError([], message);
  return new (errorClasses.get(name) ?? Error)(message);
}

/**
 * Creates an error without a stack. A stack takes far longer to create than an error, and a message can contain many
 * errors.
 */
function withoutStack(create: () => Error): Error {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return create();
  } finally {
    Error.stackTraceLimit = limit;
  }
}

const hidden = { enumerable: false, configurable: true, writable: true };

function hide(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { ...hidden, value });
}
