import { type JSONObject, setOwn } from "../internal/objects.ts";
import { modelOf, type Property, type Shape } from "../schema/model.ts";

/** Maximum depth of an example, because schemas may be recursive. */
const maxDepth = 8;
/** Maximum number of values in an example. */
const maxValues = 1_000;
/** Maximum number of elements of an array. */
const maxItems = 10;
/** Maximum length of a string that is lengthened. */
const maxStringLength = 100;

/** Values of the formats of JSON Schema that do not depend on the time. */
const formats = new Map<unknown, string>([
  ["date-time", "2026-01-31T12:00:00Z"],
  ["date", "2026-01-31"],
  ["time", "12:00:00Z"],
  ["duration", "P1D"],
  ["email", "ada@example.com"],
  ["hostname", "example.com"],
  ["ipv4", "127.0.0.1"],
  ["ipv6", "::1"],
  ["uri", "https://example.com"],
  ["uuid", "123e4567-e89b-42d3-a456-426614174000"],
]);

/**
 * Creates an input for a schema, for a person to start from: examples and defaults of the schema where it has some, and
 * otherwise small values of the right type. Optional properties without example are omitted. It may violate a pattern or
 * `uniqueItems`.
 */
export function createExample(schema: unknown): unknown {
  let valuesLeft = maxValues;

  /** @param name - the property that the value is for, which is also the value of a string */
  function create(shape: Shape, name: string, depth: number): unknown {
    const given = [...examplesOf(shape), shape.annotation("default"), ...(shape.values ?? [])];
    const value = given.find((each) => each !== undefined && shape.admits(each));
    if (value !== undefined) return value;
    if (depth > maxDepth || --valuesLeft < 0) return name;
    switch (shape.kind) {
      case "union":
        return createMember(shape, name, depth);
      case "object":
      case "map":
        return createObject(shape, depth);
      case "array":
      case "tuple":
        return createArray(shape, name, depth);
      case "bytes":
        return { base64: "" };
      case "string":
        return createString(shape.limits, name);
      case "integer":
      case "number":
        return createNumber(shape);
      default:
        return shape.kind === "boolean" || name;
    }
  }

  /** A member other than `null`. A value that several members of `oneOf` accept is not valid. */
  function createMember(shape: Shape, name: string, depth: number): unknown {
    const members = shape.alternatives.map((each) => each.shape).filter(({ kind }) => kind !== "null");
    const isExclusive = shape.schemas.some(({ oneOf }) => oneOf !== undefined);
    const values = members.slice(0, isExclusive ? undefined : 1).map((member) => create(member, name, depth + 1));
    return values.find((value) => members.filter((member) => member.admits(value)).length === 1) ?? values[0];
  }

  function createObject(shape: Shape, depth: number): JSONObject {
    const isShown = ({ shape: part, isRequired }: Property) => isRequired || (depth < 2 && examplesOf(part).length > 0);
    const names = new Set([...shape.properties].flatMap(([name, property]) => (isShown(property) ? [name] : [])));
    const count = Math.min(Number(shape.limits["minProperties"] ?? 0), maxItems);
    for (const name of shape.properties.keys()) if (names.size < count) names.add(name);
    for (let number = 1; names.size < count; number++) names.add(`name${number}`);
    const value: JSONObject = {};
    for (const name of names) setOwn(value, name, create(shape.property(name), name, depth + 1));
    return value;
  }

  function createArray(shape: Shape, name: string, depth: number): unknown[] {
    const { minItems = 1, maxItems: most = maxItems } = shape.limits as Record<string, number>;
    const length = Math.min(Math.max(minItems, shape.prefixLength), most, maxItems);
    const elements = Array.from({ length }, (_, index) => shape.element(index));
    const end = elements.findIndex((element) => element.isNever);
    return elements.slice(0, end < 0 ? length : end).map((element) => create(element, name, depth + 1));
  }

  return create(modelOf(schema).root, "value", 0);
}

function createString({ format, minLength = 0, maxLength }: JSONObject, name: string): string {
  const value = (formats.get(format) ?? name).padEnd(Math.min(Number(minLength), maxStringLength), "x");
  return value.slice(0, Number(maxLength ?? value.length));
}

function createNumber({ kind, limits }: Shape): number {
  const { minimum = -Infinity, exclusiveMinimum = -Infinity } = limits as Record<string, number>;
  const { maximum = Infinity, exclusiveMaximum = Infinity, multipleOf } = limits as Record<string, number>;
  const isStepped = multipleOf !== undefined || kind === "integer";
  const step = multipleOf || 1;
  const highest = Math.min(maximum, (Math.ceil(exclusiveMaximum / step) - 1) * step);
  const lowest = Math.max(minimum, (Math.floor(exclusiveMinimum / step) + 1) * step);
  const start = Number.isFinite(lowest) ? lowest : Math.min(1, highest);
  const value = isStepped ? Math.min(Math.ceil(start / step) * step, highest) : start;
  // Maybe no whole number is between the bounds.
  const middle = (Math.max(minimum, exclusiveMinimum) + Math.min(maximum, exclusiveMaximum)) / 2;
  return value <= highest ? value : middle;
}

function examplesOf(shape: Shape): unknown[] {
  const [examples, example] = [shape.annotation("examples"), shape.annotation("example")];
  return Array.isArray(examples) ? examples : example === undefined ? [] : [example];
}
