import { isDataObject, type JSONObject } from "../../internal/objects.ts";
import { isStackOverflow } from "../check.ts";
import { DriftLog } from "./drift-log.ts";
import type { Normalised } from "./normaliser.ts";
import { looksClassless } from "./unchanged-check.ts";

/** Types that a value can be converted to, in the order of the attempts. */
const targets = ["integer", "number", "boolean", "string"] as const;

/**
 * Converts a scalar to one of the allowed types without loss: a numeric string to a number, `"true"` and `"false"`
 * to a boolean, a number or a boolean to a string. An integer beyond 2^53 has lost digits already and is never
 * converted. Returns `undefined` if no conversion is valid.
 */
export function convertScalar(
  value: unknown,
  allowed: ReadonlySet<string>,
  isValid: (value: unknown) => boolean,
): string | number | boolean | undefined {
  for (const target of targets) {
    if (!allowed.has(target)) continue;
    const converted = convertTo(target, value);
    if (converted !== undefined && isValid(converted)) return converted;
  }
  return undefined;
}

function convertTo(target: (typeof targets)[number], value: unknown): string | number | boolean | undefined {
  switch (target) {
    case "integer":
    case "number":
      return typeof value === "string" ? parseNumber(value) : undefined;
    case "boolean":
      return value === "true" ? true : value === "false" ? false : undefined;
    case "string":
      if (typeof value !== "number") return typeof value === "boolean" ? String(value) : undefined;
      return Math.abs(value) <= Number.MAX_SAFE_INTEGER && !Object.is(value, -0) ? String(value) : undefined;
  }
}

// Excludes leading zeros, plus signs and blanks, which would be lost: "007" and "+49" are identifiers, not numbers.
const decimal = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;
// No finite double needs a longer string.
const maxNumberLength = 400;

function parseNumber(text: string): number | undefined {
  if (text.length > maxNumberLength) return undefined;
  const number = Number(text);
  if (!Number.isFinite(number)) return undefined;
  const written = String(number);
  if (written === text) return number;
  const digits = toDigits(text);
  return digits !== undefined && digits === toDigits(written) ? number : undefined;
}

/** Returns sign, significant digits and exponent of a number, the same for all spellings of one number. */
function toDigits(text: string): string | undefined {
  const match = decimal.exec(text);
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const digits = (whole + fraction).replace(/^0+/, "");
  // A double keeps the sign of zero, JSON and String() do not.
  if (digits === "") return sign === "" ? "0" : undefined;
  const significant = digits.replace(/0+$/, "");
  const scale = Number(exponent) - fraction.length + (digits.length - significant.length);
  return `${sign}${significant}e${scale}`;
}

/** Returns whether a value is a number beyond 2^53, where doubles no longer represent every integer. */
function isUnsafe(value: unknown): boolean {
  return typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER;
}

/** Reports each number in foreign data that may have lost digits when its JSON was parsed. */
export function findLostDigits(data: unknown): Pick<Normalised, "drift" | "driftTotal"> {
  try {
    if (!holdsUnsafe(data)) return {};
    const log = new DriftLog();
    noteUnsafe(data, log);
    return log.report();
  } catch (error) {
    if (isStackOverflow(error)) return {}; // The data contains itself, so it was not parsed from JSON.
    throw error;
  }
}

/** Runs for every foreign result, and allocates nothing. */
function holdsUnsafe(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return isUnsafe(value);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) if (holdsUnsafe(value[index])) return true;
  } else if (looksClassless(value)) {
    for (const key in value) if (holdsUnsafe((value as JSONObject)[key])) return true;
  }
  return false;
}

function noteUnsafe(value: unknown, log: DriftLog): void {
  if (isUnsafe(value)) log.mismatch("may have lost digits; ask the API for strings");
  if (!Array.isArray(value) && !isDataObject(value)) return;
  for (const key of Object.keys(value)) {
    log.path.push(key);
    noteUnsafe((value as JSONObject)[key], log);
    log.path.pop();
  }
}
