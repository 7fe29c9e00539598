import { getOwn, isObject, type JSONObject, setOwn } from "../../internal/objects.ts";
import { Resolver, type SchemaObject } from "../../schema/index.ts";

/** Maximum depth of an example, because schemas may be recursive. */
const maxDepth = 8;

/** Values of the formats of JSON Schema that do not depend on the time. */
const formats: Readonly<Record<string, string>> = {
  "date-time": "2026-01-31T12:00:00Z",
  date: "2026-01-31",
  time: "12:00:00Z",
  duration: "P1D",
  email: "ada@example.com",
  hostname: "example.com",
  ipv4: "127.0.0.1",
  ipv6: "::1",
  uri: "https://example.com",
  uuid: "123e4567-e89b-42d3-a456-426614174000",
};

/**
 * Creates an input for a schema, for a person to start from: examples and defaults of the schema where it has some, and
 * otherwise small values of the right type. Optional properties without example are omitted. It may violate a pattern.
 */
export function createExample(schema: unknown): unknown {
  const resolver = new Resolver(schema);
  const create = (part: unknown, name: string, depth: number): unknown => {
    if (!isObject(part) || depth > maxDepth) return name;
    const given = givenValue(part);
    if (given !== undefined) return given;
    if (typeof part["$ref"] === "string") return create(resolver.resolve(part["$ref"], part), name, depth + 1);
    const [choice] = [part["anyOf"], part["oneOf"]].find(Array.isArray) ?? [];
    const parts = [...(Array.isArray(part["allOf"]) ? part["allOf"] : []), ...(choice === undefined ? [] : [choice])];
    const own = createOfType(part, name, depth);
    if (parts.length === 0) return own ?? name;
    const values = parts.map((each) => create(each, name, depth + 1));
    return isObject(own ?? {}) && values.every(isObject) ? Object.assign({}, own, ...values) : (own ?? values[0]);
  };
  const createOfType = (part: SchemaObject, name: string, depth: number): unknown => {
    const type = Array.isArray(part["type"]) ? part["type"].find((each) => each !== "null") : part["type"];
    switch (type ?? (isObject(part["properties"]) ? "object" : undefined)) {
      case "object":
        return createObject(part, depth);
      case "array":
        return createArray(part, name, depth);
      case "string":
        return fitLength(formats[String(part["format"])] ?? name, part);
      case "integer":
      case "number":
        return createNumber(part);
      case "boolean":
        return true;
      case "null":
        return null;
      default:
        return undefined;
    }
  };
  const createObject = (part: SchemaObject, depth: number): JSONObject => {
    const properties = isObject(part["properties"]) ? part["properties"] : {};
    const required = Array.isArray(part["required"]) ? part["required"].map(String) : [];
    const value: JSONObject = {};
    for (const name of [...required, ...Object.keys(properties).filter((name) => !required.includes(name))]) {
      const property = getOwn(properties, name);
      const isShown = required.includes(name) || (depth < 2 && hasExample(property));
      if (isShown) setOwn(value, name, create(property, name, depth + 1));
    }
    return value;
  };
  const createArray = (part: SchemaObject, name: string, depth: number): unknown[] => {
    const first = Array.isArray(part["prefixItems"]) ? part["prefixItems"] : [];
    const count = Math.min(Math.max(Number(part["minItems"] ?? 1), first.length), 10);
    return Array.from({ length: count }, (_, index) => create(first[index] ?? part["items"], name, depth + 1));
  };
  return create(schema, "value", 0);
}

function givenValue(schema: SchemaObject): unknown {
  const [example] = Array.isArray(schema["examples"]) ? schema["examples"] : [schema["example"]];
  const [choice] = Array.isArray(schema["enum"]) ? schema["enum"] : [];
  return [schema["const"], example, schema["default"], choice].find((value) => value !== undefined);
}

function hasExample(schema: unknown): boolean {
  return isObject(schema) && (schema["example"] !== undefined || Array.isArray(schema["examples"]));
}

function fitLength(value: string, { minLength, maxLength }: SchemaObject): string {
  return value.padEnd(Number(minLength ?? 0), "x").slice(0, Number(maxLength ?? value.length + Number(minLength ?? 0)));
}

function createNumber({ minimum, exclusiveMinimum, maximum, multipleOf }: SchemaObject): number {
  const lowest = typeof exclusiveMinimum === "number" ? exclusiveMinimum + 1 : Number(minimum ?? 1);
  const step = typeof multipleOf === "number" && multipleOf > 0 ? multipleOf : undefined;
  const value = step === undefined ? lowest : Math.ceil(lowest / step) * step;
  return typeof maximum === "number" && value > maximum ? maximum : value;
}
