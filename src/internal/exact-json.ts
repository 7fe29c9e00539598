import { isNestedDeeper } from "./json-depth.ts";

/**
 * Numbers of foreign JSON that a double cannot represent: integers beyond 2^53 and numbers that overflow. `JSON.parse` rounds
 * them silently, so their digits are stored here by the object that contains the number.
 */
const digitsByHolder = new WeakMap<object, Map<string, string | undefined>>();
/** Objects that contain such a number at any depth. */
const holders = new WeakSet<object>();

/** Matches JSON that may contain such a number. Most responses do not match and need no further work. */
const suspicious = /(?:^|[\s:,[-])\d{16}|\d[eE]\+?\d{3,}(?:[\s,\]}]|$)/;

/** Returns whether an object contains numbers that lost digits when they were parsed, at any depth. */
export function holdsInexact(value: unknown): value is object {
  return typeof value === "object" && value !== null && holders.has(value);
}

/** Returns the direct properties of an object that lost digits, with their digits if these are known. */
export function inexactNumbersIn(holder: object): ReadonlyMap<string, string | undefined> | undefined {
  return digitsByHolder.get(holder);
}

/** Records that the number at a key of an object lost digits. */
export function noteInexact(holder: object, key: string, digits: string | undefined): void {
  let digitsByKey = digitsByHolder.get(holder);
  if (digitsByKey === undefined) {
    digitsByKey = new Map();
    digitsByHolder.set(holder, digitsByKey);
  }
  digitsByKey.set(key, digits);
  holders.add(holder);
}

/** Returns whether a JSON string is one number that a double cannot represent. */
export function isInexactText(text: string): boolean {
  return suspicious.test(text) && /^-?[\d.eE+-]+$/.test(text) && isInexact(text);
}

/** `JSON.parse` that records which numbers lost digits. */
export function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null || !suspicious.test(text)) return value;
  const quoted = quoteInexact(text);
  if (toFind > 0) compare(value, JSON.parse(quoted));
  return value;
}

/** Thrown by {@link parseForeign} for JSON that is nested too deeply. */
export class TooDeep extends Error {}

/** {@link parseExactly} that first checks the depth. A leading byte order mark is skipped. */
export function parseForeign(text: string, maxDepth: number): unknown {
  const json = withoutMark(text);
  if (isNestedDeeper(json, maxDepth)) throw new TooDeep();
  return parseExactly(json);
}

/** Records the digits of data that is a single number, beside its envelope. */
export function noteNumber(envelope: { data: unknown }, text: string): void {
  if (typeof envelope.data !== "number") return;
  const digits = withoutMark(text).trim();
  if (isInexactText(digits)) noteInexact(envelope, "data", digits);
}

function withoutMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

/** Records integers beyond 2^53 in a value whose JSON is no longer available. Returns whether there are any. */
export function noteUnsafeIntegers(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  let isHolder = false;
  for (const key of Object.keys(value)) {
    const held = (value as Record<string, unknown>)[key];
    if (typeof held === "number" ? isUnsafe(held) : noteUnsafeIntegers(held)) {
      isHolder = true;
      if (typeof held === "number") noteInexact(value, key, undefined);
    }
  }
  if (isHolder) holders.add(value);
  return isHolder;
}

/** Returns whether a number is an integer beyond 2^53, infinite or `NaN`. */
export function isUnsafe(value: number): boolean {
  return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
}

/** Returns whether a double differs from the digits it was parsed from. */
export function hasLost(value: number, digits: string | undefined): boolean {
  if (digits === undefined || !Number.isFinite(value) || digits.length > maxExactDigits) return true;
  return BigInt(digits) !== BigInt(value);
}

/** The largest double has 309 digits. */
const maxExactDigits = 400;

/** Maximum number of recorded numbers per JSON string, which limits the time. */
const maxRecorded = 50_000;
/** The number of quoted numbers that were not found yet. */
let toFind = 0;

/** Records the numbers in a value that are strings in its quoted copy. */
function compare(value: object, quoted: object): boolean {
  const isHolder = Array.isArray(value)
    ? compareItems(value, quoted as unknown[])
    : compareProperties(value as Record<string, unknown>, quoted as Record<string, unknown>);
  if (isHolder) holders.add(value);
  return isHolder;
}

function compareItems(value: unknown[], quoted: readonly unknown[]): boolean {
  let isHolder = false;
  for (let index = 0; index < quoted.length && toFind > 0; index++) {
    const before = value[index];
    if (typeof before === "number" && typeof quoted[index] === "string") {
      found(value, String(index), quoted[index] as string);
      isHolder = true;
    } else if (typeof before === "object" && before !== null && compare(before, quoted[index] as object)) {
      isHolder = true;
    }
  }
  return isHolder;
}

function compareProperties(value: Record<string, unknown>, quoted: Readonly<Record<string, unknown>>): boolean {
  let isHolder = false;
  for (const key in quoted) {
    if (toFind === 0) break;
    const before = value[key];
    if (typeof before === "number" && typeof quoted[key] === "string") {
      found(value, key, quoted[key]);
      isHolder = true;
    } else if (typeof before === "object" && before !== null && compare(before, quoted[key] as object)) {
      isHolder = true;
    }
  }
  return isHolder;
}

function found(holder: object, key: string, digits: string): void {
  noteInexact(holder, key, digits);
  toFind -= 1;
}

/** Returns the JSON with quotes around each number that a double cannot represent, and counts these in `toFind`. */
function quoteInexact(text: string): string {
  let quoted = "";
  let copied = 0;
  toFind = 0;
  for (let index = 0; index < text.length && toFind < maxRecorded; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x22) {
      index = endOfString(text, index + 1);
    } else if (isDigit(code) || code === 0x2d) {
      const end = endOfNumber(text, index);
      const literal = text.slice(index, end);
      if (isInexact(literal)) {
        quoted += `${text.slice(copied, index)}"${literal}"`;
        copied = end;
        toFind += 1;
      }
      index = end - 1;
    }
  }
  return quoted + text.slice(copied);
}

function isInexact(literal: string): boolean {
  if (literal.length < minInexactLength) return false;
  const number = Number(literal);
  return /[.eE]/.test(literal) ? !Number.isFinite(number) : !Number.isSafeInteger(number);
}

/** The shortest number that a double cannot represent is `1e309`. */
const minInexactLength = 5;

function endOfNumber(text: string, from: number): number {
  let end = from + 1;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    const isPart = isDigit(code) || code === 0x2e || code === 0x2b || code === 0x2d || (code | 0x20) === 0x65;
    if (!isPart) break;
  }
  return end;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** The JSON is valid, so every string ends. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); ; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
}
