import type { StandardTypedV1 } from "@standard-schema/spec";
import type { Static, TArray, TIntersect, TObject, TOptional, TProperties, TSchema } from "typebox";

/**
 * What a caller passes to an operation with this `inputSchema`: a property with a default may be left out. `unknown` where the
 * schema does not tell.
 */
export type InferInput<Schema> = Schema extends StandardTypedV1
  ? StandardTypedV1.InferInput<Schema>
  : true extends HasDefault<Schema>
    ? InferWithDefaults<Schema>
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

/** Whether a property that callers can reach has a default: in objects, arrays and intersections. */
type HasDefault<Schema> = Schema extends { default: unknown }
  ? true
  : Schema extends { properties: infer Properties }
    ? { [Key in keyof Properties]: HasDefault<Properties[Key]> }[keyof Properties]
    : Schema extends TArray<infer Item>
      ? HasDefault<Item>
      : Schema extends TIntersect<infer Types>
        ? HasDefault<Types[number]>
        : false;

/** The values before defaults are filled. In a union, defaults are filled only where one branch fits, so it stays as it is. */
type InferWithDefaults<Schema> =
  Schema extends TObject<infer Properties extends TProperties>
    ? Resolve<
        { [Key in Exclude<keyof Properties, OmittableKeys<Properties>>]: InferWithDefaults<Properties[Key]> } & {
          [Key in OmittableKeys<Properties>]?: InferWithDefaults<Properties[Key]>;
        }
      >
    : Schema extends TArray<infer Item extends TSchema>
      ? InferWithDefaults<Item>[]
      : Schema extends TIntersect<infer Types extends TSchema[]>
        ? Resolve<InferAll<Types>>
        : Schema extends { "~kind": string }
          ? InferStatic<Schema>
          : Schema extends { properties: infer Properties }
            ? OmitDefaults<InferStatic<Schema>, Properties>
            : InferStatic<Schema>;

type InferAll<Types> = Types extends [infer First, ...infer Others]
  ? InferWithDefaults<First> & InferAll<Others>
  : unknown;

/** The properties that a caller may leave out. */
type OmittableKeys<Properties> = {
  [Key in keyof Properties]: Properties[Key] extends { default: unknown } | TOptional<TSchema> ? Key : never;
}[keyof Properties];

/** Of a JSON Schema: makes the properties with a default optional. */
type OmitDefaults<Value, Properties> = Resolve<
  Omit<Value, DefaultKeys<Properties>> & Partial<Pick<Value, DefaultKeys<Properties> & keyof Value>>
>;
type DefaultKeys<Properties> = {
  [Key in keyof Properties]: Properties[Key] extends { default: unknown } ? Key : never;
}[keyof Properties];

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
