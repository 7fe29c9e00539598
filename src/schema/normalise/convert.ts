import { isUnsafe } from "../../internal/exact-json.ts";

/** Type names that a value can be converted to, in the order in which they are tried. */
const targets = ["integer", "number", "boolean", "string"] as const;

/**
 * Converts a scalar to one of the wanted types when nothing is lost: numeric text to a number, `"true"` and `"false"`
 * to a boolean, a number or a boolean to text. An integer beyond 2^53 has lost digits already and is never converted.
 * `undefined` when that is not possible or does not `fit`.
 */
export function convertScalar(
  value: unknown,
  wanted: ReadonlySet<string>,
  fits: (value: unknown) => boolean,
): string | number | boolean | undefined {
  for (const target of targets) {
    if (!wanted.has(target)) continue;
    const converted = convertTo(target, value);
    if (converted !== undefined && fits(converted)) return converted;
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
      if (typeof value === "boolean") return String(value);
      return typeof value === "number" && !isUnsafe(value) && !Object.is(value, -0) ? String(value) : undefined;
  }
}

// No leading zeros, signs or blanks that would be lost: "007" and "+49" are identifiers rather than numbers.
const decimal = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;
// No finite double needs more text than this; a longer one would only cost time.
const longestNumber = 400;

function parseNumber(text: string): number | undefined {
  if (text.length > longestNumber) return undefined;
  const number = Number(text);
  if (!Number.isFinite(number)) return undefined;
  const written = String(number);
  if (written === text) return number;
  const digits = toDigits(text);
  return digits !== undefined && digits === toDigits(written) ? number : undefined;
}

/** The number as sign, significant digits and exponent; the same for two spellings of one number. */
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
