import { hasValue } from "./plain.ts";
import type { Plan } from "./plan.ts";
import { defaultOf } from "./walk.ts";

/** Tells whether nothing would be done to a value that fits. `false` means "perhaps". */
export type KnownCheck = (value: unknown) => boolean;

/** The known-keys check of a plan. */
export function createKnownCheck(plan: Plan): KnownCheck {
  return (value) => isKnown(plan, value);
}

/** The check without generated code. */
export function isKnown(plan: Plan, value: unknown): boolean {
  if (typeof value !== "object" || value === null || !plan.hasWork) return true;
  const selected = plan.select(value, true);
  if (selected === undefined) return false;
  return Array.isArray(value)
    ? isKnownArray(selected, value)
    : isKnownObject(selected, value as Record<string, unknown>);
}

function isKnownArray({ array }: Plan, value: unknown[]): boolean {
  for (let index = 0; index < value.length; index++) if (!isKnown(array.planAt(index), value[index])) return false;
  return true;
}

function isKnownObject({ object: shape }: Plan, value: Record<string, unknown>): boolean {
  for (const key in value) {
    const child = shape.childOf(key);
    if (child === undefined || !isKnown(child, value[key])) return false;
  }
  for (const { key, plan, required, inherited } of shape.wanted) {
    if (hasValue(value, key, inherited)) continue;
    if (defaultOf(plan) !== undefined || (required && inherited)) return false;
  }
  return true;
}
