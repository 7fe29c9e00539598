import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseOpenAPI } from "../from/openapi/index.ts";
import { FromOpenAPI, FromSchema } from "../index.ts";
import { compileSchema } from "../schema/index.ts";
import { createExample } from "./example.ts";
import { fieldsIn, openForm } from "./form.ts";
import { printTypes } from "./signature.ts";
import { createSpec, samples } from "./testing.ts";

test("an example has required properties, and optional ones that have an example", () => {
  const example = createExample({
    type: "object",
    required: ["name", "kind", "when", "rank", "tags", "size", "owner", "either", "__proto__"],
    properties: {
      name: { type: "string", minLength: 6 },
      kind: { enum: ["a", "b"] },
      when: { type: ["null", "string"], format: "date" },
      rank: { type: "integer", exclusiveMinimum: 4, multipleOf: 10 },
      tags: { type: "array", items: { type: "string" }, minItems: 2 },
      size: { type: "array", prefixItems: [{ type: "number", maximum: 0 }, { type: "boolean" }] },
      owner: { $ref: "#/$defs/person" },
      either: { oneOf: [{ type: "object", properties: { a: { const: 1 } }, required: ["a"] }, { type: "null" }] },
      optional: { type: "string" },
      shown: { type: "string", examples: ["x"] },
    },
    $defs: {
      person: {
        allOf: [
          { properties: { id: { default: 7 } }, required: ["id"] },
          { required: ["boss"], properties: { boss: { $ref: "#/$defs/person" } } },
        ],
      },
    },
  });

  expect(example).toMatchObject({
    name: "namexx",
    kind: "a",
    when: "2026-01-31",
    rank: 10,
    tags: ["tags", "tags"],
    size: [0, true],
    owner: { id: 7, boss: { id: 7 } },
    either: { a: 1 },
    shown: "x",
  });
  expect(Object.keys(example as object)).not.toContain("optional");
});

test("the examples of large documents are valid inputs, except where a pattern is required", async () => {
  const results = await Promise.all(
    ["spotify.yaml", "mastodon.yaml", "twilio-verify.json", "google-drive.yaml"].map(async (file) => {
      const text = readFileSync(new URL(`../../test/fixtures/openapi/${file}`, import.meta.url), "utf8");
      const config = { namespace: "api", baseUrl: "https://example.com", onReport() {} };
      const operations = FromOpenAPI(await parseOpenAPI(text), config);
      const invalid = operations.filter(({ inputSchema }) => {
        const usesPattern = JSON.stringify(inputSchema).includes('"pattern"');
        return !usesPattern && !compileSchema(inputSchema).check(createExample(inputSchema));
      });
      return invalid.map(({ name }) => name);
    }),
  );

  expect(results).toEqual([[], [], [], []]);
});

test("an example is valid where a schema can be satisfied, without a pattern or alternatives that exclude each other", () => {
  fc.assert(
    fc.property(samples, ({ schema, values }) => {
      const compiled = compileSchema(FromSchema(schema));
      fc.pre(values.some((value) => compiled.check(value)) && !JSON.stringify(schema).includes('"oneOf"'));
      expect([createExample(schema), compiled.check(createExample(schema))]).toEqual([createExample(schema), true]);
    }),
  );
});

test.each<[string, object, unknown]>([
  ["between bounds", { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5],
  ["below a maximum", { type: "integer", exclusiveMaximum: 0 }, -1],
  ["of a step", { type: "number", minimum: 0.1, multipleOf: 0.5 }, 0.5],
  ["of a map", { type: "object", minProperties: 1, additionalProperties: { type: "boolean" } }, { name1: true }],
  ["of one member only", { oneOf: [{ type: "number" }, { type: "integer" }, { type: "boolean" }] }, true],
  ["of bytes", { format: "binary" }, { base64: "" }],
])("values %s", (_title, schema, expected) => {
  expect(createExample(schema)).toEqual(expected);
});

test("hostile schemas take little time", () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => {
      const next = { $ref: `#/$defs/d${(index + 1) % 60}` };
      return [
        `d${index}`,
        { type: "object", properties: { a: next, b: next }, required: ["a", "b"], oneOf: [next, next] },
      ];
    }),
  );
  let deep: object = { type: "string" };
  for (let depth = 0; depth < 1_000; depth++)
    deep = { anyOf: [{ type: "null" }, { allOf: [{ type: "array", items: deep }] }] };
  const values = Array.from({ length: 50_000 }, (_, index) => `value ${index}`);
  const specs = [
    { $ref: "#/$defs/d0", $defs },
    { $ref: "#" },
    deep,
    { allOf: [{ enum: values }, { enum: values.slice(1) }] },
  ];

  for (const schema of specs) {
    const printed = printTypes([createSpec({ output: schema, input: schema })]);
    expect([printed.length > 0, createExample(schema) !== undefined]).toEqual([true, true]);
    expect(fieldsIn(openForm(schema), {}).length).toBeGreaterThanOrEqual(0);
  }
});
