import type { TSchema } from "typebox";
import { Value } from "typebox/value";
import { expect } from "vitest";
import { compileSchema, FromSchema, looksClassless, type Normalised, SchemaError } from "./index.ts";
import { createNormaliser, type Normaliser } from "./normalise/normaliser.ts";

/** Returns the results of the compiled check, which must equal those of TypeBox. */
export function accepts(schema: unknown, values: unknown[]): boolean[] {
  const type = FromSchema(schema);
  const results = values.map((value) => compileSchema(type).check(value));
  expect(values.map((value) => Value.Check(type, value))).toEqual(results);
  return results;
}

/** Returns the error that converting a schema throws. */
export function errorOf(schema: unknown, options?: Parameters<typeof FromSchema>[1]): SchemaError {
  try {
    FromSchema(schema, options);
  } catch (error) {
    if (error instanceof SchemaError) return error;
    throw error;
  }
  throw new Error("expected a SchemaError");
}

/** Freezes a value deeply. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const entry of Object.values(value)) deepFreeze(entry);
    Object.freeze(value);
  }
  return value;
}

/** Returns the normaliser of a schema that is written as JSON. */
export function normaliserOf(schema: unknown): Normaliser {
  return createNormaliser(schema as TSchema);
}

/** Runs the quick check like the registry: an error counts as failed. */
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
