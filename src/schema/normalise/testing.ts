import type { TSchema } from "typebox";
import { createNormaliser, type Normalised, type Normaliser } from "./normaliser.ts";
import { looksClassless } from "./unchanged-check.ts";

/** Returns the normaliser of a schema that is written as JSON. */
export function normaliserOf(schema: unknown): Normaliser {
  return createNormaliser(schema as TSchema);
}

/** The quick check as the registry uses it: one that throws counts as failed. */
export function passesQuickCheck(schema: unknown, value: unknown): boolean {
  const { isValid, isUnchanged } = normaliserOf(schema).quickCheck;
  try {
    return looksClassless(value) && isValid(value) && (isUnchanged === undefined || isUnchanged(value));
  } catch {
    return false;
  }
}

/** Normalises a value by a schema that is written as JSON. */
export function normalise(schema: unknown, value: unknown): Normalised {
  return normaliserOf(schema).normalise(value);
}

/** The kind and path of every difference that normalising reports. */
export function driftOf(schema: unknown, value: unknown): string[] {
  return (normalise(schema, value).drift ?? []).map(({ kind, path }) => `${kind} ${path}`);
}
