import type { StandardTypedV1 } from "@standard-schema/spec";
import type { Static, TIntersect, TSchema } from "typebox";

/** What a caller passes to an operation with this `inputSchema`. `unknown` where the schema does not tell. */
export type InferInput<Schema> = Schema extends StandardTypedV1
  ? StandardTypedV1.InferInput<Schema>
  : InferStatic<Schema>;

/** What the handler receives: for Standard Schemas what validating gives, with defaults and transforms applied. */
export type InferHandlerInput<Schema> = Schema extends StandardTypedV1
  ? StandardTypedV1.InferOutput<Schema>
  : InferStatic<Schema>;

/** The data that an operation with this `outputSchema` answers with. `unknown` where the schema does not tell. */
export type InferOutput<Schema> = InferHandlerInput<Schema>;

/** The values of a TypeBox type or of a JSON Schema whose literals the compiler has seen. */
type InferStatic<Schema> = Schema extends TIntersect
  ? Resolve<Static<Schema>>
  : Schema extends { "~kind": string } | { "~unsafe": unknown }
    ? Static<Schema>
    : Schema extends TSchema
      ? true extends IsWidened<Schema>
        ? unknown
        : Static<Schema>
      : unknown;

/**
 * Finds a `type` that is any string, as in a JSON Schema that was put in a variable without `as const`: what is
 * derived from such a schema would be wrong, not just vague.
 */
type IsWidened<Schema> = Schema extends readonly unknown[]
  ? IsWidened<Schema[number]>
  : Schema extends object
    ? string extends Schema["type" & keyof Schema]
      ? true
      : { [Key in keyof Schema]: IsWidened<Schema[Key]> }[keyof Schema]
    : false;

/** Shows one object in place of an intersection. */
type Resolve<Type> = { [Key in keyof Type]: Type[Key] } & {};
