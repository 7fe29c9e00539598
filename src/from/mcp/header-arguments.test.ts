import { expect, test } from "vitest";
import { headerProblem } from "./header-arguments.ts";

const region = { type: "string", "x-mcp-header": "Region" };

function input(properties: Record<string, unknown>, more: object = {}) {
  return { type: "object", properties, ...more };
}

test.each([
  ["no header", input({ a: { type: "string" } })],
  ["an argument", input({ region })],
  ["an argument inside another", input({ a: input({ region }) })],
  ["an argument of that name", input({ "x-mcp-header": { type: "string" } })],
  ["a value of that name", input({ a: { const: { "x-mcp-header": 1 } } })],
  [
    "several",
    input({ region, dry: { type: "boolean", "x-mcp-header": "Dry" }, n: { type: "integer", "x-mcp-header": "N" } }),
  ],
])("%s is valid", (_, schema) => {
  expect(headerProblem(schema)).toBe(undefined);
});

test.each([
  ["a list's items", input({ a: { type: "array", items: region } }), "x-mcp-header is not on an argument."],
  ["an alternative", input({}, { anyOf: [input({ region })] }), "x-mcp-header is not on an argument."],
  ["a definition", input({}, { $defs: { region } }), "x-mcp-header is not on an argument."],
  ["the whole", { ...input({}), "x-mcp-header": "All" }, "x-mcp-header is not on an argument."],
  ["a line break", input({ a: { type: "string", "x-mcp-header": "A\r\nB" } }), "x-mcp-header is not a header name."],
  ["nothing", input({ a: { type: "string", "x-mcp-header": "" } }), "x-mcp-header is not a header name."],
  [
    "a number",
    input({ a: { type: "number", "x-mcp-header": "A" } }),
    "x-mcp-header requires type string, integer or boolean.",
  ],
  [
    "a name twice",
    input({ region, other: { type: "string", "x-mcp-header": "REGION" } }),
    "x-mcp-header names one header twice.",
  ],
])("a header on %s is invalid", (_, schema, problem) => {
  expect(headerProblem(schema)).toBe(problem);
});
