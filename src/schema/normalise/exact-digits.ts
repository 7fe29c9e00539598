import type { TSchema } from "typebox";
import { hasLost, holdsInexact, inexactNumbersIn } from "../../internal/exact-json.ts";
import { isRecord } from "../keywords.ts";
import { DriftLog } from "./drift-log.ts";
import type { Normalised } from "./normaliser.ts";
import { setOwn } from "./plain.ts";
import { type Plan, Planner } from "./plan.ts";

const plans = new WeakMap<object, Plan>();

/**
 * Puts the digits of numbers that a double cannot hold where the schema takes them as a string. The other numbers that
 * lost digits stay and are a `mismatch`. `digits` are those of the data itself, when it is such a number.
 */
export function restoreDigits(schema: TSchema, data: unknown, digits?: string): Normalised {
  const restorer = new DigitRestorer();
  const restored =
    typeof data === "number" && digits !== undefined
      ? restorer.restoreNumber(planOf(schema), data, digits)
      : restorer.restore(planOf(schema), data);
  return { data: restored, ...restorer.log.report() };
}

function planOf(schema: TSchema): Plan {
  let plan = isRecord(schema) ? plans.get(schema) : undefined;
  if (plan === undefined) {
    plan = new Planner(schema, true).root;
    if (isRecord(schema)) plans.set(schema, plan);
  }
  return plan;
}

class DigitRestorer {
  readonly log = new DriftLog();

  restore(plan: Plan | undefined, value: unknown): unknown {
    if (plan === undefined || !holdsInexact(value)) return value;
    const digits = inexactNumbersIn(value);
    const { path } = this.log;
    let copy: object | undefined;
    for (const key of Object.keys(value)) {
      const before = (value as Record<string, unknown>)[key];
      const child = Array.isArray(value) ? plan.array.planAt(Number(key)) : plan.object.childOf(key);
      path.push(key);
      const after =
        typeof before === "number" && digits?.has(key)
          ? this.restoreNumber(child, before, digits.get(key))
          : this.restore(child, before);
      path.pop();
      if (Object.is(after, before)) continue;
      copy ??= Array.isArray(value) ? value.slice() : { ...value };
      setOwn(copy as Record<string, unknown>, key, after);
    }
    return copy ?? value;
  }

  /** A number that the schema does not know is stripped later, and needs no report. */
  restoreNumber(plan: Plan | undefined, number: number, digits: string | undefined): unknown {
    if (plan === undefined) return number;
    if (digits !== undefined && takesString(plan) && plan.planner.checks.separable && plan.fits(digits)) {
      this.log.change("converted", "number to string");
      return digits;
    }
    if (hasLost(number, digits)) this.log.mismatch("has more digits than a number can hold");
    return number;
  }
}

function takesString({ facets }: Plan): boolean {
  return facets.some(({ type }) => type === "string" || (Array.isArray(type) && type.includes("string")));
}
