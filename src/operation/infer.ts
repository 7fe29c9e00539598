import type { StandardTypedV1 } from "@standard-schema/spec";
import type { Static, TArray, TIntersect, TObject, TOptional, TProperties, TSchema } from "typebox";

/**
 * The input that callers pass to an operation with this `inputSchema`: properties with a default are optional. `unknown` if
 * the schema has no static type.
 */
export type InferInput<Schema> = unknown extends Schema
  ? unknown
  : Schema extends StandardTypedV1
    ? Schema extends WithJSONSchema
      ? StandardTypedV1.InferInput<Schema>
      : { error: MissingJSONSchema }
    : true extends HasDefault<Schema>
      ? InferWithDefaults<Schema>
      : InferStatic<Schema>;

/** The input that the handler receives: for a Standard Schema its output type, with defaults and transforms applied. */
export type InferHandlerInput<Schema> = unknown extends Schema
  ? unknown // The schema is `any`, which would match everything below.
  : Schema extends StandardTypedV1
    ? Schema extends WithJSONSchema
      ? StandardTypedV1.InferOutput<Schema>
      : { error: MissingJSONSchema }
    : InferStatic<Schema>;

/** The data that an operation with this `outputSchema` returns. `unknown` if the schema has no static type. */
export type InferOutput<Schema> = InferHandlerInput<Schema>;

type WithJSONSchema = { "~standard": { jsonSchema: unknown } };
/** Shown by the compiler for a schema that the registry refuses. It would show only the name of an object type. */
type MissingJSONSchema =
  "This schema has no JSON Schema. Use zod instead of zod/mini, or toStandardJsonSchema() of Valibot.";

/** The values of a TypeBox type or of a JSON Schema with literal types. */
type InferStatic<Schema> = Schema extends TIntersect
  ? Resolve<Static<Schema>>
  : Schema extends { "~kind": string } | { "~unsafe": unknown }
    ? Static<Schema>
    : Schema extends TSchema
      ? Schema extends SchemaProperties
        ? [keyof Schema] extends [never]
          ? unknown
          : { error: "Write Type.Object({ … }) or z.object({ … }) around the properties." }
        : true extends IsWidened<Schema>
          ? unknown
          : Static<Schema>
      : unknown;

/** Properties without an object schema around them, such as `{ title: Type.String() }`. The compiler shows what to write. */
type SchemaProperties = { readonly [name: string]: StandardTypedV1 | { "~kind": string } };

/** Whether a property that callers can reach has a default: in objects, arrays and intersections. */
type HasDefault<Schema> = unknown extends Schema
  ? false
  : Schema extends { default: unknown }
    ? true
    : Schema extends { properties: infer Properties }
      ? { [Key in keyof Properties]: HasDefault<Properties[Key]> }[keyof Properties]
      : Schema extends TArray<infer Item>
        ? HasDefault<Item>
        : Schema extends TIntersect<infer Types>
          ? HasDefault<Types[number]>
          : false;

/** The values before defaults are filled. Unions stay unchanged: their defaults are filled only where one branch matches. */
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

/** The properties that a caller may omit. */
type OmittableKeys<Properties> = {
  [Key in keyof Properties]: Properties[Key] extends { default: unknown } | TOptional<TSchema> ? Key : never;
}[keyof Properties];

/** For a JSON Schema: makes the properties with a default optional. */
type OmitDefaults<Value, Properties> = Resolve<
  Omit<Value, DefaultKeys<Properties>> & Partial<Pick<Value, DefaultKeys<Properties> & keyof Value>>
>;
type DefaultKeys<Properties> = {
  [Key in keyof Properties]: Properties[Key] extends { default: unknown } ? Key : never;
}[keyof Properties];

/**
 * Finds `any`, and a `type` of type `string`, as in a JSON Schema variable without `as const`. A type derived from such
 * a schema would be incorrect, not only imprecise.
 */
type IsWidened<Schema> = unknown extends Schema
  ? true
  : Schema extends readonly unknown[]
    ? IsWidened<Schema[number]>
    : Schema extends object
      ? string extends Schema["type" & keyof Schema]
        ? true
        : { [Key in keyof Schema]: IsWidened<Schema[Key]> }[keyof Schema]
      : false;

/** Shows one object instead of an intersection in editors. */
type Resolve<Type> = { [Key in keyof Type]: Type[Key] } & {};
