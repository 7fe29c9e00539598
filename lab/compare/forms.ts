import type { TSchema } from "@alkdev/operations";
import { z } from "zod";
import type { Library } from "./library.ts";
import type { Schema } from "./schemas.ts";

/** How an operation declares its schemas. */
export const forms = ["json", "typebox", "zod"] as const;
export type Form = (typeof forms)[number];

/** Expresses a schema in one of the forms that operations accept. What a form lacks stays JSON Schema. */
export function toForm(schema: Schema, form: Form, library: Library): TSchema {
  if (form === "typebox") return toTypeBox(schema, library.root.Type);
  return (form === "zod" ? toZod(schema) : schema) as TSchema;
}

type Builders = Library["root"]["Type"];
type Keywords = { [keyword: string]: unknown };

function toTypeBox(schema: Schema, Type: Builders): TSchema {
  if (typeof schema === "boolean" || "$defs" in schema || "$ref" in schema) return Type.Unsafe(schema as object);
  const { type, properties, required = [], items, anyOf, prefixItems, ...options } = schema as Keywords;
  const inner = (one: unknown) => toTypeBox(one as Schema, Type);
  if (Array.isArray(anyOf)) return Type.Union(anyOf.map(inner), options);
  switch (type) {
    case "string":
      return Type.String(options);
    case "integer":
      return Type.Integer(options);
    case "number":
      return Type.Number(options);
    case "boolean":
      return Type.Boolean(options);
    case "null":
      return Type.Null(options);
    case "array":
      return items === undefined || prefixItems !== undefined ? Type.Unsafe(schema) : Type.Array(inner(items), options);
    case "object": {
      const own = Object.entries((properties ?? {}) as Record<string, Schema>).map(([name, one]) => {
        const isRequired = (required as string[]).includes(name);
        return [name, isRequired ? inner(one) : Type.Optional(inner(one))];
      });
      return Type.Object(Object.fromEntries(own), options);
    }
    default:
      return Type.Unsafe(schema);
  }
}

function toZod(schema: Schema): z.ZodType {
  if (typeof schema === "boolean") return z.unknown();
  const { type, anyOf, oneOf, properties = {}, required = [], items, additionalProperties } = schema as Keywords;
  if ("const" in schema) return toLiteral(schema["const"]);
  if (Array.isArray(schema["enum"])) return z.union(schema["enum"].map(toLiteral));
  const branches = (anyOf ?? oneOf) as Schema[] | undefined;
  if (branches !== undefined) return z.union(branches.map(toZod));
  const zod = toZodType(type, { ...schema, properties, required, items, additionalProperties });
  return "default" in schema ? zod.default(schema["default"]) : zod;
}

function toZodType(type: unknown, schema: Keywords): z.ZodType {
  const { properties, required, items, additionalProperties, minimum, maximum, minLength, maxLength } = schema;
  if (Array.isArray(type)) return z.union(type.map((one) => toZodType(one, schema)));
  switch (type) {
    case "string": {
      const text = z.string().max(typeof maxLength === "number" ? maxLength : 1_000);
      return typeof minLength === "number" ? text.min(minLength) : text;
    }
    case "integer":
    case "number": {
      const number = type === "integer" ? z.int() : z.number();
      const low = typeof minimum === "number" ? number.min(minimum) : number;
      return typeof maximum === "number" ? low.max(maximum) : low;
    }
    case "boolean":
      return z.boolean();
    case "null":
      return z.null();
    case "array":
      return z.array(toZod((items as Schema | undefined) ?? true));
    case "object": {
      const own = Object.entries(properties as Record<string, Schema>).map(([name, one]) => {
        const isRequired = (required as string[]).includes(name);
        return [name, isRequired ? toZod(one) : toZod(one).optional()];
      });
      const shape = Object.fromEntries(own);
      return additionalProperties === false ? z.strictObject(shape) : z.object(shape);
    }
    default:
      return z.unknown();
  }
}

function toLiteral(value: unknown): z.ZodType {
  const isSimple = value === null || ["string", "number", "boolean"].includes(typeof value);
  return isSimple ? z.literal(value as string | number | boolean | null) : z.unknown();
}
