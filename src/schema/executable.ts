import type { TSchema } from "typebox";

/** A schema in the form that TypeBox's compiler takes. */
export interface Executable {
  context: Record<string, TSchema>;
  schema: TSchema;
}

/** Prepares a type for TypeBox's compiler. */
export function toExecutable(schema: TSchema): Executable {
  return { context: {}, schema };
}
