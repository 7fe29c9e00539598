import { readdirSync, readFileSync } from "node:fs";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { compileSchema } from "../../schema/index.ts";
import { FakeConnection, mcpTool, wrap } from "./testing.ts";

async function importTools(tools: Array<Record<string, unknown>>, config = {}, connection = new FakeConnection()) {
  connection.tools = tools;
  const { tools: operations, report } = await wrap(connection, config);
  return { operations, report, operation: operations[0]! };
}

describe("a tool", () => {
  test("is imported with limits of its server", async () => {
    const { report } = await importTools([mcpTool()], { limits: { lineBytes: 1_000, pages: 2, schemaDepth: 8 } });

    expect(report.skipped).toEqual([]);
    expect(report.imported).toHaveLength(1);
  });

  test("becomes a mutation with everything that the server describes", async () => {
    const { operation } = await importTools([
      {
        name: "add.numbers v2",
        title: "Add",
        description: "Adds",
        inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
        outputSchema: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
        annotations: { readOnlyHint: true, idempotentHint: true },
        icons: [{ src: "https://example.com/i.png" }],
        _meta: { "a/b": 1 },
      },
    ]);

    const { handler, inputSchema, outputSchema, ...spec } = operation;
    expect(spec).toEqual({
      namespace: "fake",
      name: "add.numbers v2",
      version: "1.2.3",
      type: "mutation",
      title: "Add",
      description: "Adds",
      accessControl: { requiredScopes: [] },
      fillDefaults: false,
      _meta: {
        mcp: {
          server: { name: "fake", info: { name: "fake", version: "1.2.3" }, protocol: "2026-07-28" },
          tool: "add.numbers v2",
          title: "Add",
          annotations: { readOnlyHint: true, idempotentHint: true },
          icons: [{ src: "https://example.com/i.png" }],
          _meta: { "a/b": 1 },
        },
      },
    });
    expect(handler).toBeTypeOf("function");
    expect(compileSchema(inputSchema).check({ a: 1 })).toBe(true);
    expect(compileSchema(inputSchema).check({ a: "1" })).toBe(false);
    expect(compileSchema(outputSchema).check({ sum: 1 })).toBe(true);
    expect(compileSchema(outputSchema).check({})).toBe(false);
  });

  test("whose input schema has no type is read as an object, and that is reported", async () => {
    const { operation, report } = await importTools([
      { name: "bare", inputSchema: { properties: { a: { type: "number" } } } },
      mcpTool(),
    ]);

    expect(report).toEqual({
      imported: ["fake.bare", "fake.echo"],
      skipped: [],
      warnings: [
        {
          where: 'tool "bare"',
          reason: 'Its input schema has no type, which MCP requires. The type "object" was added.',
        },
      ],
    });
    expect(compileSchema(operation.inputSchema).check({ a: 1 })).toBe(true);
    expect(compileSchema(operation.inputSchema).check([])).toBe(false);
  });

  test("with few properties is an operation", async () => {
    const connection = new FakeConnection();
    connection.state = { status: "ready", stderr: [], restarts: 0 };
    const { operation } = await importTools([{ name: "bare", inputSchema: {} }], {}, connection);

    expect(operation).toMatchObject({ version: "0.0.0", description: "The tool bare of the MCP server fake." });
    expect(operation.outputSchema).toEqual(Type.Unknown());
    expect(compileSchema(operation.inputSchema).check({})).toBe(true);
    expect(compileSchema(operation.inputSchema).check("text")).toBe(false);
  });

  test("uses the title of its annotations if it has no title", async () => {
    const { operation } = await importTools([mcpTool({ annotations: { title: "Echo" }, description: undefined })]);

    expect(operation).toMatchObject({ title: "Echo", description: "Echo" });
  });

  test("is a query, or idempotent, where the configuration trusts the server", async () => {
    const { operations } = await importTools(
      [
        mcpTool({ name: "reads", annotations: { readOnlyHint: true } }),
        mcpTool({ name: "sets", annotations: { idempotentHint: true } }),
        mcpTool({ name: "unusual", annotations: { readOnlyHint: "yes" } }),
      ],
      { trustAnnotations: true },
    );

    expect(operations.map(({ name, type, idempotent }) => ({ name, type, idempotent }))).toEqual([
      { name: "reads", type: "query", idempotent: undefined },
      { name: "sets", type: "mutation", idempotent: true },
      { name: "unusual", type: "mutation", idempotent: undefined },
    ]);
  });

  test("has access rules and policy of the configuration only", async () => {
    const { operation } = await importTools([mcpTool({ accessControl: { requiredScopes: ["evil"] } })], {
      accessControl: { requiredScopes: ["tools"] },
      outputPolicy: "strict",
    });

    expect(operation).toMatchObject({ accessControl: { requiredScopes: ["tools"] }, outputPolicy: "strict" });
  });

  test("is skipped when the access rule of the configuration is null", async () => {
    const { operations, report } = await importTools([mcpTool({})], { accessControl: null });

    expect(operations).toEqual([]);
    expect(report.skipped).toMatchObject([{ reason: expect.stringContaining("/accessControl must be an object") }]);
  });
});

describe("a tool that cannot be used is skipped, and the others are imported", () => {
  const cyclic: Record<string, unknown> = { type: "object" };
  cyclic["properties"] = { self: cyclic };
  let deep: unknown = {};
  for (let level = 0; level < 100; level++) deep = { type: "object", properties: { deeper: deep } };

  test.each([
    ["no input schema", mcpTool({ inputSchema: null }), "It has no input schema."],
    ["input that is not an object", mcpTool({ inputSchema: { type: "array" } }), "Its input is not an object."],
    ["an invalid schema", mcpTool({ inputSchema: { type: "object", properties: 1 } }), /properties/],
    ["a cyclic schema", mcpTool({ inputSchema: cyclic }), "It is nested too deeply, or has a cycle."],
    ["a schema that is too deep", mcpTool({ inputSchema: deep }), /limits\.schemaDepth/],
    [
      "too long a description",
      mcpTool({ inputSchema: { type: "object", description: "x".repeat(10_000_000) } }),
      "Its JSON is longer than 1048576 characters.",
    ],
    [
      "a reference into the network",
      mcpTool({ inputSchema: { type: "object", properties: { a: { $ref: "http://localhost:1/schema.json" } } } }),
      /Nothing is fetched/,
    ],
    ["a need for tasks", mcpTool({ execution: { taskSupport: "required" } }), /as a task/],
  ])("%s", async (_, tool, reason) => {
    const { operations, report } = await importTools([tool, mcpTool({ name: "good" })]);

    expect(operations.map(({ name }) => name)).toEqual(["good"]);
    expect(report).toEqual({
      imported: ["fake.good"],
      skipped: [{ where: 'tool "echo"', reason: typeof reason === "string" ? reason : expect.stringMatching(reason) }],
      warnings: [],
    });
  });

  test.each(["", "a\nb", "x".repeat(257)])("the name %j", async (name) => {
    const { operations, report } = await importTools([mcpTool({ name }), mcpTool({ name: "good" })]);

    expect(operations.map((operation) => operation.name)).toEqual(["good"]);
    expect(report.skipped).toEqual([{ where: expect.any(String), reason: expect.stringContaining("/name") }]);
  });

  test.each([[{}], [{ name: 1 }]])("%j instead of a tool", async (tool) => {
    const { operations, report } = await importTools([tool, mcpTool()]);

    expect(operations.map(({ name }) => name)).toEqual(["echo"]);
    expect(report.skipped).toEqual([{ where: "tool 0", reason: "It has no name." }]);
  });

  test("the second tool with the same name", async () => {
    const { operations, report } = await importTools([mcpTool(), mcpTool({ description: "Another" })]);

    expect(operations.map(({ description }) => description)).toEqual(["Repeats it"]);
    expect(report.skipped).toEqual([{ where: 'tool "echo"', reason: "An earlier tool has the same name." }]);
  });

  test("a tool that the configuration excludes", async () => {
    const names = ["read_file", "read_dir", "write_file", "stat"];
    const { operations, report } = await importTools(
      names.map((name) => mcpTool({ name })),
      { tools: { include: ["read_*", "stat"], exclude: ["*_d*r"] } },
    );

    expect(operations.map(({ name }) => name)).toEqual(["read_file", "stat"]);
    expect(report.skipped).toEqual([
      { where: 'tool "read_dir"', reason: "The configuration excludes it." },
      { where: 'tool "write_file"', reason: "The configuration excludes it." },
    ]);
  });
});

const folder = new URL("../../../test/fixtures/mcp-tools/", import.meta.url);

test.each(readdirSync(folder))("every tool of %s is imported, but for those that must be tasks", async (file) => {
  const tools: Array<Record<string, unknown>> = JSON.parse(readFileSync(new URL(file, folder), "utf8"));
  const isTask = ({ execution }: Record<string, unknown>) =>
    (execution as { taskSupport?: string } | undefined)?.taskSupport === "required";

  const { operations, report } = await importTools(tools);

  expect(operations.map(({ name }) => name)).toEqual(tools.filter((tool) => !isTask(tool)).map(({ name }) => name));
  expect(report.warnings).toEqual([]);
});

describe("an output schema", () => {
  test.each([
    ["malformed", { type: "object", required: 1 }],
    ["of the network", { $ref: "https://example.com/schema.json" }],
    ["no schema", "text"],
  ])("that is %s leaves the output unknown, with a warning", async (_, outputSchema) => {
    const { operation, report } = await importTools([mcpTool({ outputSchema })]);

    expect(operation.outputSchema).toEqual(Type.Unknown());
    expect(report).toEqual({
      imported: ["fake.echo"],
      skipped: [],
      warnings: [{ where: 'tool "echo"', reason: expect.stringContaining("Its output schema cannot be used") }],
    });
  });

  const wrapped = { type: "object", properties: { result: { type: "number" } }, required: ["result"] };

  test("is unwrapped on a legacy server", async () => {
    const connection = new FakeConnection();
    connection.state = { ...connection.state, protocol: { era: "legacy", version: "2025-11-25" } };

    const { operation } = await importTools([mcpTool({ outputSchema: wrapped })], {}, connection);
    expect(operation.outputSchema).toEqual({ type: "number" });

    const kept = await importTools([mcpTool({ outputSchema: wrapped })], { unwrapResults: false }, connection);
    expect(kept.operation.outputSchema).toEqual(wrapped);
  });

  test("is not unwrapped on a modern server", async () => {
    const { operation } = await importTools([mcpTool({ outputSchema: wrapped })]);

    expect(operation.outputSchema).toEqual(wrapped);
  });
});
