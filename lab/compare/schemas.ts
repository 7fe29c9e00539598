import type { Random } from "../chaos/random.ts";

/** A JSON Schema. */
export type Schema = boolean | { [keyword: string]: unknown };

/** Names of properties. Some are special in JavaScript. */
const names = ["id", "name", "title", "count", "tags", "owner", "at", "state", "a/b", "x-y", "constructor", "toString"];
const words = ["", "a", "open", "closed", "42", "true", "null", "ü", "🙂", "Ship it", " x ", "2024-02-29", "0"];

/** Patterns, each with strings that match. */
const patterns: Array<[pattern: string, ...matches: string[]]> = [
  ["^[a-z]+$", "abc", "x"],
  ["\\d{2,3}", "12", "a123"],
  ["^(open|closed)$", "open", "closed"],
  ["^\\p{L}+$", "Äpfel"],
  ["^(?!x)\\w+$", "yes"],
];

const formats: Array<[format: string, ...matches: string[]]> = [
  ["date", "2024-02-29"],
  ["date-time", "2020-01-02T03:04:05Z"],
  ["uuid", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"],
  ["email", "ada@example.com"],
  ["uri", "https://example.com/a?b=c"],
  ["ipv4", "192.0.2.1"],
  ["unknown-format", "anything"],
];

/** The definitions to which generated schemas refer. */
const definitions = {
  Tree: {
    type: "object",
    properties: { value: { type: "integer" }, children: { type: "array", items: { $ref: "#/$defs/Tree" } } },
    required: ["value"],
  },
  Label: { type: "string", minLength: 1, maxLength: 8 },
};

/** Generates a schema of any kind. One with references has its own `$defs`. */
export function anySchema(random: Random, depth = 3): Schema {
  return withDefinitions(node(random, depth));
}

/** Generates a schema whose values are objects. */
export function objectSchema(random: Random, depth = 3): Schema {
  return withDefinitions(objectNode(random, depth));
}

/** Generates a value that often satisfies a schema. */
export function valueFor(random: Random, schema: Schema, depth = 5): unknown {
  return new ValueMaker(random, schema).make(schema, depth);
}

/** Changes a value in one to three places, so that it often no longer satisfies its schema. */
export function distort(random: Random, value: unknown): unknown {
  let distorted = value;
  for (let left = random.integer(1, 3); left > 0; left--) distorted = distortOnce(random, distorted);
  return distorted;
}

/** Generates a JSON value without a schema. */
export function anyValue(random: Random, depth = 2): unknown {
  const make = random.pick(
    depth > 0
      ? (["text", "number", "boolean", "null", "list", "object"] as const)
      : (["text", "number", "null"] as const),
  );
  switch (make) {
    case "text":
      return random.pick(words);
    case "number":
      return random.pick([0, 1, -1, 3, 1.5, 42, 1e21, 2 ** 53, -7]);
    case "boolean":
      return random.chance(0.5);
    case "null":
      return null;
    case "list":
      return Array.from({ length: random.integer(0, 3) }, () => anyValue(random, depth - 1));
    default: {
      const own: Record<string, unknown> = {};
      for (let left = random.integer(0, 3); left > 0; left--) own[random.pick(names)] = anyValue(random, depth - 1);
      return own;
    }
  }
}

/** Generates a value that JSON does not have, or an object with a prototype of its own. */
export function exoticValue(random: Random): unknown {
  class Point {
    readonly x = 1;
    #y = 2;
    get y() {
      return this.#y;
    }
  }
  const cyclic: Record<string, unknown> = { id: "cyclic" };
  cyclic["self"] = cyclic;
  return random.pick<() => unknown>([
    () => undefined,
    () => Number.NaN,
    () => -0,
    () => Number.POSITIVE_INFINITY,
    () => 12345678901234567890n,
    () => new Date(Date.UTC(2001, 1, 3)),
    () => new Date(Number.NaN),
    () => new Map([["a", 1]]),
    () => new Set(["a"]),
    () => new Uint8Array([1, 2, 255]),
    () => new Uint8Array([7]).buffer,
    () => new Point(),
    () => cyclic,
    () => () => "called",
    () => Symbol.for("s"),
    () => new Error("as a value"),
    () => Object.assign(Object.create(null), { id: "bare" }),
    () => JSON.parse('{"__proto__":{"id":1},"id":"2"}'),
    () => new URL("https://example.com/"),
    () => [undefined, 1, Number.NaN],
    () => ({ id: undefined, name: "x", at: new Date(0) }),
  ])();
}

function withDefinitions(schema: Schema): Schema {
  const text = JSON.stringify(schema);
  if (typeof schema === "boolean" || !text.includes("#/$defs/")) return schema;
  return { ...schema, $defs: definitions };
}

function node(random: Random, depth: number): Schema {
  const leaf = [
    { weight: 8, make: () => stringNode(random) },
    { weight: 6, make: () => numberNode(random) },
    { weight: 3, make: () => annotate(random, { type: "boolean" }, () => random.chance(0.5)) },
    { weight: 1, make: (): Schema => ({ type: "null" }) },
    { weight: 2, make: (): Schema => ({ const: random.pick<unknown>(["a", 1, true, null, { id: 1 }]) }) },
    { weight: 3, make: (): Schema => ({ enum: random.pick([["open", "closed"], [1, 2, 3], ["a", 1, null], ["42"]]) }) },
    { weight: 2, make: (): Schema => ({ $ref: random.pick(["#/$defs/Tree", "#/$defs/Label"]) }) },
    { weight: 1, make: (): Schema => random.pick<Schema>([{}, true, { description: "anything" }]) },
  ];
  if (depth <= 0) return random.weighted(leaf).make();
  return random
    .weighted<{ weight: number; make: () => Schema }>([
      ...leaf,
      { weight: 14, make: () => objectNode(random, depth) },
      { weight: 7, make: () => arrayNode(random, depth) },
      { weight: 6, make: () => compositeNode(random, depth) },
    ])
    .make();
}

function annotate(random: Random, schema: { [keyword: string]: unknown }, fallback: () => unknown): Schema {
  if (random.chance(0.15)) schema["default"] = fallback();
  if (random.chance(0.15)) schema["description"] = "What it means";
  if (random.chance(0.1)) schema["type"] = [schema["type"], "null"];
  return schema;
}

function stringNode(random: Random): Schema {
  const schema: { [keyword: string]: unknown } = { type: "string" };
  if (random.chance(0.2)) schema["minLength"] = random.integer(0, 3);
  if (random.chance(0.2)) schema["maxLength"] = random.integer(1, 10);
  if (random.chance(0.15)) schema["pattern"] = random.pick(patterns)[0];
  if (random.chance(0.2)) schema["format"] = random.pick(formats)[0];
  return annotate(random, schema, () => random.pick(words));
}

function numberNode(random: Random): Schema {
  const schema: { [keyword: string]: unknown } = { type: random.pick(["integer", "number"]) };
  if (random.chance(0.25)) schema["minimum"] = random.integer(-2, 3);
  if (random.chance(0.2)) schema["maximum"] = random.integer(3, 100);
  if (random.chance(0.1)) schema["exclusiveMinimum"] = 0;
  if (random.chance(0.1)) schema["multipleOf"] = random.pick([1, 2, 0.1]);
  return annotate(random, schema, () => random.integer(0, 9));
}

function objectNode(random: Random, depth: number): Schema {
  const properties: Record<string, Schema> = {};
  for (let left = random.integer(0, 5); left > 0; left--) properties[random.pick(names)] = node(random, depth - 1);
  const known = Object.keys(properties);
  const schema: { [keyword: string]: unknown } = { type: "object" };
  if (known.length > 0 || random.chance(0.5)) schema["properties"] = properties;
  const required = known.filter(() => random.chance(0.6));
  if (required.length > 0) schema["required"] = required;
  if (random.chance(0.35)) {
    schema["additionalProperties"] = random.chance(0.7) ? random.chance(0.4) : node(random, depth - 2);
  }
  if (random.chance(0.07)) schema["patternProperties"] = { "^x-": node(random, depth - 2) };
  if (random.chance(0.05)) schema["minProperties"] = 1;
  if (random.chance(0.05)) schema["propertyNames"] = { maxLength: 6 };
  if (random.chance(0.05) && known.length > 1) schema["dependentRequired"] = { [known[0]!]: [known[1]!] };
  if (random.chance(0.1)) schema["description"] = "An object";
  if (random.chance(0.05)) schema["default"] = {};
  return schema;
}

function arrayNode(random: Random, depth: number): Schema {
  const schema: { [keyword: string]: unknown } = { type: "array" };
  if (random.chance(0.8)) schema["items"] = node(random, depth - 1);
  if (random.chance(0.15)) schema["prefixItems"] = [node(random, depth - 2), node(random, depth - 2)];
  if (random.chance(0.15)) schema["minItems"] = random.integer(0, 2);
  if (random.chance(0.15)) schema["maxItems"] = random.integer(1, 4);
  if (random.chance(0.1)) schema["uniqueItems"] = true;
  if (random.chance(0.05)) schema["contains"] = { type: "string" };
  if (random.chance(0.05)) schema["default"] = [];
  return schema;
}

function compositeNode(random: Random, depth: number): Schema {
  const branch = () => node(random, depth - 1);
  const tagged = (tag: string, inner: Schema) => ({
    type: "object",
    properties: { kind: { const: tag }, value: inner },
    required: ["kind", "value"],
  });
  return random
    .weighted<{ weight: number; make: () => Schema }>([
      { weight: 4, make: () => ({ anyOf: [branch(), branch()] }) },
      { weight: 3, make: () => ({ anyOf: [branch(), { type: "null" }] }) },
      { weight: 2, make: () => ({ oneOf: [branch(), branch()] }) },
      { weight: 3, make: () => ({ oneOf: [tagged("one", branch()), tagged("two", branch())] }) },
      { weight: 3, make: () => ({ allOf: [objectNode(random, depth - 1), objectNode(random, depth - 1)] }) },
      { weight: 1, make: () => ({ not: branch() }) },
      { weight: 1, make: () => ({ if: branch(), then: branch(), else: branch() }) },
    ])
    .make();
}

/** Generates values of the schemas above. */
class ValueMaker {
  readonly #random: Random;
  readonly #root: Schema;

  constructor(random: Random, root: Schema) {
    this.#random = random;
    this.#root = root;
  }

  make(schema: Schema, depth: number): unknown {
    const random = this.#random;
    if (typeof schema === "boolean") return anyValue(random, Math.min(depth, 1));
    const { type, anyOf, oneOf, allOf, $ref } = schema;
    if ("const" in schema) return schema["const"];
    if (Array.isArray(schema["enum"])) return random.pick(schema["enum"]);
    if (typeof $ref === "string") return this.#referred($ref, depth);
    const branches = anyOf ?? oneOf;
    if (Array.isArray(branches)) return this.make(random.pick(branches as Schema[]), depth - 1);
    if (Array.isArray(allOf)) return Object.assign({}, ...allOf.map((part: Schema) => this.make(part, depth - 1)));
    if (schema["then"] !== undefined) return this.make(schema["then"] as Schema, depth - 1);
    return this.#ofType(Array.isArray(type) ? random.pick(type) : type, schema, depth);
  }

  #referred($ref: string, depth: number): unknown {
    const { $defs } = this.#root as { $defs?: Record<string, Schema> };
    const target = $defs?.[$ref.slice("#/$defs/".length)];
    return depth <= 0 || target === undefined ? { value: 1 } : this.make(target, depth - 2);
  }

  #ofType(type: unknown, schema: { [keyword: string]: unknown }, depth: number): unknown {
    switch (type) {
      case "string":
        return this.#string(schema);
      case "integer":
      case "number":
        return this.#number(schema);
      case "boolean":
        return this.#random.chance(0.5);
      case "null":
        return null;
      case "array":
        return this.#list(schema, depth);
      case "object":
        return this.#object(schema, depth);
      default:
        return anyValue(this.#random, Math.min(depth, 1));
    }
  }

  #string({ pattern, format, minLength, maxLength }: { [keyword: string]: unknown }): string {
    const matches = [...patterns, ...formats].find(([name]) => name === pattern || name === format)?.slice(1);
    const text = this.#random.pick(matches ?? words);
    const least = typeof minLength === "number" ? minLength : 0;
    const most = typeof maxLength === "number" ? maxLength : 100;
    return text.padEnd(least, "a").slice(0, Math.max(most, least));
  }

  #number({ type, minimum, maximum, multipleOf }: { [keyword: string]: unknown }): number {
    const low = typeof minimum === "number" ? minimum : 1;
    const high = typeof maximum === "number" ? maximum : low + 10;
    const value = this.#random.integer(low, Math.max(low, high));
    if (multipleOf === 2) return value + (value % 2);
    return type === "integer" || this.#random.chance(0.7) ? value : value + 0.5;
  }

  #list(schema: { [keyword: string]: unknown }, depth: number): unknown[] {
    const { items, prefixItems, minItems, maxItems } = schema;
    const least = typeof minItems === "number" ? minItems : 0;
    const most = typeof maxItems === "number" ? maxItems : least + 2;
    const length = depth <= 0 ? least : this.#random.integer(least, Math.max(least, most));
    const prefix = Array.isArray(prefixItems) ? (prefixItems as Schema[]) : [];
    return Array.from({ length }, (_, index) =>
      this.make(prefix[index] ?? (items as Schema | undefined) ?? true, depth - 1),
    );
  }

  #object(schema: { [keyword: string]: unknown }, depth: number): Record<string, unknown> {
    const { properties = {}, required = [], additionalProperties } = schema;
    const value: Record<string, unknown> = {};
    for (const [name, own] of Object.entries(properties as Record<string, Schema>)) {
      const isRequired = (required as string[]).includes(name);
      if (isRequired || (depth > 0 && this.#random.chance(0.5))) value[name] = this.make(own, depth - 1);
    }
    if (additionalProperties === true && this.#random.chance(0.3)) value["extra"] = anyValue(this.#random, 1);
    return value;
  }
}

function distortOnce(random: Random, value: unknown): unknown {
  if (Array.isArray(value) && value.length > 0 && random.chance(0.8)) {
    const index = random.integer(0, value.length - 1);
    if (random.chance(0.2)) return [...value, random.chance(0.5) ? value[index] : anyValue(random, 1)];
    return value.map((item, at) => (at === index ? distortOnce(random, item) : item));
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value) && random.chance(0.9)) {
    const copy: Record<string, unknown> = { ...value };
    const keys = Object.keys(copy);
    if (keys.length === 0 || random.chance(0.25)) {
      return { ...copy, [random.pick(["extra", "x-more", "__proto", "other"])]: anyValue(random, 1) };
    }
    const key = random.pick(keys);
    if (random.chance(0.35)) delete copy[key];
    else copy[key] = distortOnce(random, copy[key]);
    return copy;
  }
  return random.pick<() => unknown>([
    () => (typeof value === "object" ? "an object" : String(value)),
    () => (typeof value === "string" ? Number(value) : value === true ? "true" : null),
    () => null,
    () => [value],
    () => ({ value }),
    () => anyValue(random, 1),
    () => (typeof value === "number" ? value + 0.25 : ""),
    () => (random.chance(0.3) ? exoticValue(random) : -1),
  ])();
}
