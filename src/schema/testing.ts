import { Value } from "typebox/value";
import { expect } from "vitest";
import { compileSchema, FromSchema, SchemaError } from "./index.ts";

/** The results of our compiled check, which must be those of TypeBox. */
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

/** Freezes a value with everything below it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const entry of Object.values(value)) deepFreeze(entry);
    Object.freeze(value);
  }
  return value;
}
