import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { AjvJsonSchemaValidator as OlderValidator } from "@modelcontextprotocol/sdk/validation/ajv";
import fc from "fast-check";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { operation, registryOf } from "../../registry/testing.ts";
import { compileSchema } from "../../schema/index.ts";
import { type AdaptSchema, toPublicSchema } from "../public-schema.ts";
import { adaptInput, adaptOutput } from "./client-schema.ts";
import { connect, connectOlder, generations, serve } from "./testing.ts";

/** Compiles a published schema as the clients of versions 1 and 2 of the SDK do. */
function compileForClients(schema: unknown, adapt: AdaptSchema): Array<(value: unknown) => boolean> {
  const published = JSON.parse(JSON.stringify(toPublicSchema(schema, "", adapt)));
  return [AjvJsonSchemaValidator, OlderValidator].map((Validator) => {
    const validate = new Validator().getValidator(published);
    return (value) => validate(value).valid;
  });
}

const name = fc.constantFrom(
  "a",
  "b",
  "a/b~c",
  "x%y",
  "é#",
  "\ud800",
  '"',
  "toString",
  "constructor",
  "__proto__",
  "$id",
);
const names = fc.uniqueArray(name, { maxLength: 3 });
const count = fc.integer({ min: 0, max: 3 });
const number = fc.constantFrom(-1, 0, 0.07, 1, 1.5);
const scalar = fc.constantFrom(null, true, false, -1, 0, 0.07, 1, 1.5, "", "a", "A-b", "2020-01-01", "👨‍👩‍👧");
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    scalar,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(name, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
}));
const pattern = fc.constantFrom("^a", "^[\\w-.]+$", "^a\\-b$", "(?i)^a", "(?<=a)b", "^(?!a)", "(");
const type = fc.constantFrom("array", "boolean", "integer", "null", "number", "object", "string");
// Only below keywords that apply to a part of the value: a schema that refers to itself directly has no meaning.
const reference = fc.oneof(
  fc.record({
    $ref: fc.constantFrom("#", "#/$defs/a", "#/$defs/no", "#/elsewhere/a", "#/not", "#/items/0", "#anchor"),
  }),
  fc.record({ $dynamicRef: fc.constantFrom("#anchor", "#other") }),
  fc.constant({ $recursiveRef: "#" }),
);
const { schema } = fc.letrec<{ schema: unknown }>((tie) => {
  const part = tie("schema");
  const parts = fc.array(part, { maxLength: 3 });
  const byName = fc.dictionary(name, part, { maxKeys: 3, noNullPrototype: true });
  const child = fc.oneof(part, reference);
  const keywords: Record<string, fc.Arbitrary<unknown>> = {
    type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
    nullable: fc.boolean(),
    // Scalars: Ajv cannot compare objects with a property `toString`.
    enum: fc.array(scalar, { maxLength: 3 }),
    const: scalar,
    minimum: number,
    exclusiveMinimum: fc.oneof(number, fc.boolean()),
    multipleOf: fc.constantFrom(0.01, 1),
    maxLength: count,
    minItems: count,
    maxProperties: count,
    minProperties: count,
    pattern,
    format: fc.constantFrom("date", "email", "byte", "url", "int32", "iso-date-time", "regex"),
    required: names,
    properties: fc.dictionary(name, child, { maxKeys: 3, noNullPrototype: true }),
    patternProperties: fc.dictionary(pattern, part, { maxKeys: 2, noNullPrototype: true }),
    additionalProperties: child,
    unevaluatedProperties: part,
    items: fc.oneof(child, parts),
    additionalItems: part,
    prefixItems: parts,
    contains: part,
    uniqueItems: fc.boolean(),
    allOf: parts,
    anyOf: parts,
    oneOf: parts,
    not: part,
    if: part,
    then: part,
    $id: fc.constantFrom("https://example.com/a", "b"),
    id: fc.constant("c"),
    $anchor: fc.uuid().map((id) => `a${id}`),
    $dynamicAnchor: fc.constant("other"),
    $schema: fc.constantFrom("http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema#"),
    $defs: byName,
    elsewhere: fc.record({ a: fc.record({ type }) }),
    default: value,
  };
  const chosen = fc.uniqueArray(fc.constantFrom(...Object.keys(keywords)), { maxLength: 4 });
  const object = chosen.chain((keys) => fc.record(Object.fromEntries(keys.map((key) => [key, keywords[key]!]))));
  return { schema: fc.oneof({ maxDepth: 3 }, fc.boolean(), object, object) };
});

describe("the schema that clients receive", () => {
  test("compiles, and accepts the JSON of every value that the operation may return", () => {
    let accepted = 0;
    fc.assert(
      fc.property(schema, fc.array(value, { minLength: 1, maxLength: 8 }), (original, values) => {
        compileForClients(original, adaptInput);
        const checks = compileForClients(original, adaptOutput);
        for (const each of values.filter((candidate) => isAccepted(original, candidate))) {
          accepted += 1;
          expect({ each, results: checks.map((check) => check(each)) }).toEqual({ each, results: [true, true] });
        }
      }),
      { numRuns: 500 },
    );
    expect(accepted).toBeGreaterThan(500);
  });
});

function isAccepted(schema: unknown, value: unknown): boolean {
  try {
    return compileSchema(schema as never).check(value);
  } catch {
    return false; // The schema is malformed, so calls of the operation fail.
  }
}

/** Output schemas, and a result that each accepts. */
const outputs: Record<string, [schema: unknown, result: unknown]> = {
  pattern: [{ properties: { a: { type: "string", pattern: "^[\\w-.]+$" } } }, { a: "a-b" }],
  emptyEnum: [{ properties: { a: { enum: [] } } }, {}],
  nullable: [{ properties: { a: { nullable: true, enum: ["a"] } } }, { a: "a" }],
  nullableRoot: [{ nullable: true, properties: {} }, null],
  exclusiveMinimum: [{ properties: { a: { type: "number", minimum: 0, exclusiveMinimum: true } } }, { a: 1 }],
  draft04: [{ $schema: "http://json-schema.org/draft-04/schema#" }, { a: 1 }],
  draft03: [{ $schema: "http://json-schema.org/draft-03/schema#" }, { a: 1 }],
  latest: [{ $schema: "http://json-schema.org/schema#" }, { a: 1 }],
  ownDialect: [{ $schema: "https://spec.openapis.org/oas/3.1/dialect/base" }, { a: 1 }],
  siblings: [
    { $schema: "http://json-schema.org/draft-07/schema#", $ref: "#/definitions/a", definitions: { a: {} } },
    { a: 1 },
  ],
  id: [{ id: "a" }, {}],
  dynamic: [{ $dynamicAnchor: "a", properties: { next: { $dynamicRef: "#a" } } }, { next: {} }],
  recursive: [{ $recursiveAnchor: true, properties: { next: { $recursiveRef: "#" } } }, { next: {} }],
  boolean: [{ properties: { a: true, b: false } }, { a: 1 }],
  tuple: [{ properties: { a: { type: "array", items: [{ type: "string" }], additionalItems: false } } }, { a: ["a"] }],
  byte: [{ properties: { a: { type: "string", format: "byte" } } }, { a: "!" }],
  url: [{ properties: { a: { type: "string", format: "url" } } }, { a: "http://localhost:3000" }],
  int32: [{ properties: { a: { type: "integer", format: "int32" } } }, { a: 2 ** 40 }],
  multiple: [{ properties: { a: { type: "number", multipleOf: 0.01 } } }, { a: 0.07 }],
  method: [{ properties: { constructor: { type: "string" } } }, {}],
  undefinedUnion: [Type.Object({ a: Type.Union([Type.String(), Type.Undefined()]) }), { a: undefined }],
  undefinedUnknown: [Type.Object({ a: Type.Unknown() }), { a: undefined }],
  list: [{ type: "array", $dynamicAnchor: "a", items: { $dynamicRef: "#a" } }, [[]]],
  malformed: [{ properties: null }, {}],
};

test.each([...generations, "version 1 of the SDK"] as const)(
  "a client of %s lists and calls tools with schemas that validators refuse",
  async (version) => {
    const anything = { type: "object" };
    const operations = Object.entries(outputs).flatMap(([name, [schema, result]]) => {
      const tested = (name === "list" ? schema : { ...anything, ...(schema as object) }) as never;
      const handler = () => result;
      return [
        operation({ name, inputSchema: anything as never, outputSchema: tested, handler }),
        operation({ name: `${name}_input`, inputSchema: tested, handler }),
      ];
    });
    const server = serve(registryOf(...operations), { mode: "tools" });
    const client = version === "version 1 of the SDK" ? await connectOlder(server) : await connect(server, version);
    expect((await client.listTools()).tools).toHaveLength(operations.length);
    for (const name of Object.keys(outputs)) {
      const { isError = false } = await client.callTool({ name: `test_${name}`, arguments: {} });
      expect({ name, isError }).toEqual({ name, isError: name === "malformed" });
    }
  },
);
