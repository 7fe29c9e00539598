import { extendPointer } from "../internal/json-pointer.ts";
import { readJSONForm } from "../internal/json-safe.ts";
import { quote } from "../internal/text.ts";
import { classNameOf, hidesState, isWireValue } from "../schema/instances.ts";
import { isJSON } from "./is-json.ts";

/** A part of a value that JSON would lose or change. */
export interface Unsendable {
  /** JSON pointer to the part. */
  readonly path: string;
  /** Explanation without a full stop, such as `JSON does not have NaN`. */
  readonly reason: string;
}

/** A value that is nested more deeply probably contains itself. */
export const maxLevels = 1_000;

/**
 * Returns the first part of a value that `JSON.stringify` would lose or change silently, or `undefined`. A `Date` becomes its
 * ISO string, an instance of a class an object, and a property that is `undefined` is omitted.
 */
export function findUnsendable(value: unknown, maxDepth = maxLevels): Unsendable | undefined {
  return isJSON(value, maxDepth) ? undefined : find(value, maxDepth, []);
}

/** Describes a part after the name of the whole value, without a full stop. */
export function describeUnsendable({ path, reason }: Unsendable): string {
  return `${path === "" ? "" : `has a value at ${quote(path)} that `}cannot be sent: ${reason}`;
}

function find(value: unknown, maxDepth: number, ancestors: readonly object[]): Unsendable | undefined {
  const fail = (reason: string): Unsendable => ({ path: "", reason });
  if (typeof value === "string" || typeof value === "boolean" || value === null) return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : fail(`JSON does not have ${value}`);
  if (typeof value === "bigint") return fail("JSON does not have integers of this size; use a string");
  if (value === undefined) return fail("JSON does not have undefined; use null, or omit the item");
  if (typeof value !== "object") return fail(`JSON does not have values of type ${typeof value}`);
  if (ancestors.includes(value)) return fail("it contains itself");
  if (ancestors.length >= maxDepth) return fail("it is nested too deeply");
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? fail("it is an invalid Date") : undefined;
  const parents = [...ancestors, value];
  const isList = Array.isArray(value);
  if (!isList) {
    const isWire = isWireValue(value);
    const form = isWire ? undefined : readJSONForm(value);
    if (form !== undefined) return find(form[0], maxDepth, parents);
    if (isWire || hidesState(value)) return fail(`JSON does not have ${describe(value, isWire)}`);
  }
  for (const [key, part] of isList ? value.entries() : Object.entries(value)) {
    const found = part === undefined && !isList ? undefined : find(part, maxDepth, parents);
    if (found !== undefined) return { path: extendPointer("", key) + found.path, reason: found.reason };
  }
  return undefined;
}

function describe(object: object, isWire: boolean): string {
  if (object instanceof ArrayBuffer || ArrayBuffer.isView(object)) return "bytes; use base64";
  const name = classNameOf(object);
  const noun = `${/^[AEIOU]/.test(name) ? "an" : "a"} ${name}`;
  return isWire ? `${noun}; use an object or an array` : noun;
}
