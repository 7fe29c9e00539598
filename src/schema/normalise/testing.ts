import type { TSchema } from "typebox";
import { createNormaliser, type Normaliser } from "./normaliser.ts";

/** Returns the normaliser of a schema that is written as JSON. */
export function normaliserOf(schema: unknown): Normaliser {
  return createNormaliser(schema as TSchema);
}

/** The quick check as the registry uses it: one that throws counts as failed. */
export function passesQuickCheck(schema: unknown, value: unknown): boolean {
  try {
    return normaliserOf(schema).quickCheck(value);
  } catch {
    return false;
  }
}
