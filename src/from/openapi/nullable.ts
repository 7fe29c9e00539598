import { isObject, type JSONObject, own } from "./values.ts";

/** Whether a schema says `nullable` (3.0) or `x-nullable`, the habit of Swagger 2. */
export function isNullable(schema: JSONObject): boolean {
  return own(schema, "nullable") === true || own(schema, "x-nullable") === true;
}

/** Lets a schema accept `null` as well, in the words of JSON Schema. */
export function allowNull(schema: unknown): unknown {
  if (!isObject(schema)) return schema === false ? { type: "null" } : schema;
  const { type } = schema;
  const isPlain = !["$ref", "allOf", "anyOf", "oneOf", "not", "const"].some((keyword) =>
    Object.hasOwn(schema, keyword),
  );
  if (isPlain && type !== undefined) {
    const types = Array.isArray(type) ? type : [type];
    return {
      ...schema,
      type: types.includes("null") ? types : [...types, "null"],
      ...(Array.isArray(schema["enum"]) && !schema["enum"].includes(null) && { enum: [...schema["enum"], null] }),
    };
  }
  if (isPlain && schema["enum"] === undefined) return schema;
  const { title, description, default: fallback, deprecated, readOnly, writeOnly, ...rest } = schema;
  const outside = Object.fromEntries(
    Object.entries({ title, description, default: fallback, deprecated, readOnly, writeOnly }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  return { ...outside, anyOf: [rest, { type: "null" }] };
}
