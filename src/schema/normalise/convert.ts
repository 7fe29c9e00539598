import type { TSchema } from "typebox";
import { hasLost, holdsInexact, inexactNumbersIn, isUnsafe } from "../../internal/exact-json.ts";
import { isObject } from "../../internal/objects.ts";
import { DriftLog } from "./drift-log.ts";
import type { Normalised } from "./normaliser.ts";
import { mapParts } from "./parts.ts";
import { type Plan, Planner } from "./plan.ts";

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
      if (typeof value === "boolean") return String(value);
      return typeof value === "number" && !isUnsafe(value) && !Object.is(value, -0) ? String(value) : undefined;
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

const flatPlans = new WeakMap<object, Plan>();

/**
 * Replaces numbers that a double cannot represent by their digits where the schema accepts a string. Other numbers that
 * lost digits are unchanged and reported as `mismatch`. `digits` are those of the data itself, if it is such a number.
 */
export function restoreDigits(schema: TSchema, data: unknown, digits?: string): Normalised {
  const plan = flatPlanOf(schema);
  const log = new DriftLog();
  const restored =
    typeof data === "number" && digits !== undefined
      ? restoreNumber(plan, data, digits, log)
      : restoreParts(plan, data, log);
  return { data: restored, ...log.report() };
}

function flatPlanOf(schema: TSchema): Plan {
  let plan = isObject(schema) ? flatPlans.get(schema) : undefined;
  if (plan === undefined) {
    plan = new Planner(schema, true).root;
    if (isObject(schema)) flatPlans.set(schema, plan);
  }
  return plan;
}

function restoreParts(plan: Plan | undefined, value: unknown, log: DriftLog): unknown {
  if (plan === undefined || !holdsInexact(value)) return value;
  const digits = inexactNumbersIn(value);
  return mapParts(value, (part, key) => {
    const child = typeof key === "number" ? plan.array.planAt(key) : plan.object.childOf(key);
    const name = String(key);
    log.path.push(key);
    const restored =
      typeof part === "number" && digits?.has(name)
        ? restoreNumber(child, part, digits.get(name), log)
        : restoreParts(child, part, log);
    log.path.pop();
    return restored;
  });
}

/** Leaves a number of an unknown property without a report, because it is stripped later. */
function restoreNumber(plan: Plan | undefined, number: number, digits: string | undefined, log: DriftLog): unknown {
  if (plan === undefined) return number;
  const { document } = plan.planner;
  if (digits !== undefined && acceptsString(plan) && document.hasSelfContainedParts && plan.isValid(digits)) {
    log.change("converted", "number to string");
    return digits;
  }
  if (hasLost(number, digits)) log.mismatch("has more digits than a number can represent");
  return number;
}

function acceptsString({ schemas }: Plan): boolean {
  return schemas.some(({ type }) => type === "string" || (Array.isArray(type) && type.includes("string")));
}
