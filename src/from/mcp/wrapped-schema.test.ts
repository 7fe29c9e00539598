import { expect, test } from "vitest";
import { compileSchema, FromSchema } from "../../schema/index.ts";
import { unwrapSchema } from "./tool-operation.ts";

function wrap(result: unknown, extra: object = {}) {
  return { type: "object", properties: { result }, required: ["result"], ...extra };
}

test("a schema that a server wrapped for older clients is unwrapped", () => {
  expect(unwrapSchema(wrap({ type: "array", items: { type: "number" } }))).toEqual({
    type: "array",
    items: { type: "number" },
  });
  expect(unwrapSchema(wrap({ type: "number" }, { $schema: "http://json-schema.org/draft-07/schema#" }))).toEqual({
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "number",
  });
});

test("a schema that FastMCP marks as wrapped is unwrapped, with its definitions", () => {
  const schema = unwrapSchema(
    wrap(
      { type: "array", items: { $ref: "#/$defs/Item" }, title: "Result" },
      { title: "listOutput", $defs: { Item: { type: "string" } }, "x-fastmcp-wrap-result": true },
    ),
  );

  const compiled = compileSchema(FromSchema(schema));
  expect(compiled.check(["a"])).toBe(true);
  expect(compiled.check([1])).toBe(false);
  expect(compiled.check({ result: ["a"] })).toBe(false);
});

test("references through the wrapper still resolve", () => {
  const schema = unwrapSchema(
    wrap({
      anyOf: [{ type: "string" }, { type: "array", items: { $ref: "#/properties/result" } }],
    }),
  );

  const compiled = compileSchema(FromSchema(schema));
  expect(compiled.check([["a"], "b", [[["c"]]]])).toBe(true);
  expect(compiled.check([["a"], 1])).toBe(false);
});

test.each([
  ["an object inside", wrap({ type: "object", properties: {} })],
  ["another property", { ...wrap({ type: "number" }), properties: { result: { type: "number" }, more: {} } }],
  ["nothing required", { ...wrap({ type: "number" }), required: [] }],
  ["a title", wrap({ type: "number" }, { title: "Sum" })],
  ["a description", wrap({ type: "number" }, { description: "The sum" })],
  ["closed properties", wrap({ type: "number" }, { additionalProperties: false })],
  ["no schema inside", wrap(true)],
  ["another name", { type: "object", properties: { value: { type: "number" } }, required: ["value"] }],
  ["no object", { type: "number" }],
  ["no schema", undefined],
])("a schema with %s is not unwrapped", (_, schema) => {
  expect(unwrapSchema(schema)).toBe(undefined);
});
