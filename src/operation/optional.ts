import { type Static, type TOptional, type TSchema, type TUnsafe, Type } from "typebox";

/** An optional property that may also be `undefined`, which TypeScript refuses with `exactOptionalPropertyTypes`. */
export function optional<Schema extends TSchema>(schema: Schema): TOptional<TUnsafe<Static<Schema> | undefined>> {
  return Type.Optional(Type.Unsafe<Static<Schema> | undefined>(schema));
}
