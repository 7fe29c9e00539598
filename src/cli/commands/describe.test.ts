import { expect, test } from "vitest";
import { createSpec } from "../../contract/testing.ts";
import { Type } from "../../index.ts";
import { toPrintable } from "../output-stream.ts";
import { formatDescription } from "./describe.ts";

test("a description has signature, example, errors, access, source and types", () => {
  const task = { type: "object", description: "A task.", properties: { id: { type: "string" } }, required: ["id"] };
  const spec = createSpec({
    title: "Create a task",
    description: "Creates a task.",
    input: Type.Object({
      title: Type.String({ description: "A short text.", examples: ["Buy Ada's milk"] }),
      due: Type.Optional(Type.String({ format: "date" })),
    }),
    output: { $ref: "#/$defs/task", $defs: { task } },
    errorSchemas: [
      { code: "TITLE_TAKEN", description: "The title\nexists.", schema: Type.Object({ title: Type.String() }) },
    ],
    accessControl: {
      requiredScopes: ["task:write"],
      resourceType: "list",
      resourceAction: "add",
      resourceId: "/list",
    },
    _meta: { mcp: { tool: "create-task" } },
  });
  const described = formatDescription({ ...spec, source: "tasks" }, "http://127.0.0.1:4000");

  expect(described).toBe(`/**
 * Create a task
 *
 * Creates a task.
 */
task.create(input: {
  /** A short text. */
  title: string;
  due?: string;
}): Promise<Task>

Example:
  npx @alkdev/operations call task.create 'title=Buy Ada'\\''s milk'

Errors:
  /**
   * The title
   * exists.
   */
  TITLE_TAKEN: { title: string };

Access: requires the scope "task:write" and the action "add" on "list" at "/list" of the input

Source: http://127.0.0.1:4000, the source "tasks", the MCP tool "create-task", version 1.0.0

Types:

/** A task. */
type Task = { id: string };
`);
});

test("a subscription without input, errors and rules has a short description", () => {
  const described = formatDescription(
    createSpec({
      namespace: "my app",
      name: "ticks",
      type: "subscription",
      output: Type.Number(),
      _meta: { openapi: { method: "GET", server: "https://example.com", path: "/ticks" } },
    }),
    "api.json",
  );

  expect(described).toBe(`"my app.ticks"(input: { [key: string]: unknown }): AsyncIterable<number>

Example:
  npx @alkdev/operations subscribe 'my app.ticks'

Access: every caller

Source: api.json, GET https://example.com/ticks, version 1.0.0
`);
});

test("foreign text in a description cannot end a comment or move the cursor", () => {
  const hostile = "\u001b[2J */ \u202e\u0007";
  const described = formatDescription(
    createSpec({
      name: `x${hostile}`.replaceAll(/\p{Cc}/gu, ""),
      description: hostile,
      input: {
        type: "object",
        properties: { [hostile]: { description: hostile, const: hostile } },
        required: [hostile],
      },
      errorSchemas: [{ code: hostile, description: hostile, schema: Type.Unknown() }],
      accessControl: { requiredScopes: [hostile] },
      _meta: { mcp: { tool: hostile } },
    }),
    "api.json",
  );

  expect(toPrintable(described)).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  expect(described.split("\n")[0]).toMatch(/^\/\*\* [^/]*\\\/[^/]* \*\/$/);
});

test("a very long description is shortened", () => {
  const spec = createSpec({ description: "long ".repeat(200_000) });
  expect(formatDescription(spec, "x").length).toBeLessThan(11_000);
});
