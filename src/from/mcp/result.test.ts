import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import type { MCPToolResult } from "./connection/index.ts";
import { type ResultRules, toMCPEnvelope } from "./result.ts";

const count = Type.Object({ count: Type.Number() });

function read(result: MCPToolResult, rules: Partial<ResultRules> = {}) {
  return toMCPEnvelope(result, { operationId: "test.tool", isWrapped: false, ...rules });
}

function text(value: string) {
  return { type: "text", text: value };
}

describe("structured content", () => {
  test.each([{ count: 1 }, [1, 2], "text", 0, false, null, ""])("%j is the data", (structuredContent) => {
    expect(read({ content: [text("x")], structuredContent })).toEqual({
      data: structuredContent,
      meta: { source: "mcp", isError: false, content: [text("x")], structuredContent },
    });
  });

  test("is unwrapped where the server wraps it, and unchanged in meta", () => {
    expect(read({ content: [], structuredContent: { result: [1] } }, { isWrapped: true })).toEqual({
      data: [1],
      meta: { source: "mcp", isError: false, content: [], structuredContent: { result: [1] } },
    });
  });

  test.each([[{ other: 1 }], [[1]], [null]])("%j is unchanged without a wrapper", (structuredContent) => {
    expect(read({ content: [], structuredContent }, { isWrapped: true }).data).toEqual(structuredContent);
  });

  test("is the data of a result without blocks", () => {
    expect(read({ structuredContent: 7 })).toEqual({
      data: 7,
      meta: { source: "mcp", isError: false, content: [], structuredContent: 7 },
    });
  });
});

describe("an error that the tool reports", () => {
  test("is an envelope with the blocks as data", () => {
    const { data, meta } = read({ content: [text('{"count":1}')], isError: true }, { outputSchema: count });

    expect(meta).toEqual({ source: "mcp", isError: true, content: [text('{"count":1}')] });
    expect(data).toBe((meta as { content: unknown }).content);
  });

  test.each([{ result: 1 }, null])("does not unwrap structured content: %j", (structuredContent) => {
    expect(read({ content: [], structuredContent, isError: true }, { isWrapped: true })).toEqual({
      data: structuredContent,
      meta: { source: "mcp", isError: true, content: [], structuredContent },
    });
  });
});

describe("without structured content", () => {
  test("the data is the same array of blocks as in meta", () => {
    const { data, meta } = read({ content: [text("a"), text("b")] });

    expect(data).toEqual([text("a"), text("b")]);
    expect(data).toBe((meta as { content: unknown }).content);
  });

  test("the JSON in the only block is the data when it passes the schema", () => {
    expect(read({ content: [text('{"count":3}')] }, { outputSchema: count })).toEqual({
      data: { count: 3 },
      meta: { source: "mcp", isError: false, content: [text('{"count":3}')] },
    });
  });

  test("falsy JSON is data too", () => {
    expect(read({ content: [text("null")] }, { outputSchema: Type.Null() }).data).toBe(null);
    expect(read({ content: [text("0")] }, { outputSchema: Type.Number() }).data).toBe(0);
  });

  test.each(['{"result":{"count":3}}', '{"count":3}'])("a wrapped schema accepts %s", (json) => {
    expect(read({ content: [text(json)] }, { outputSchema: count, isWrapped: true }).data).toEqual({ count: 3 });
  });

  test.each([
    ["does not pass the schema", [text('{"count":"3"}')]],
    ["is not JSON", [text("three")]],
    ["is one of several", [text('{"count":3}'), text("more")]],
    ["is in an image", [{ type: "image", data: '{"count":3}', mimeType: "application/json" }]],
  ])("JSON that %s is not the data", (_, content) => {
    const { data, meta } = read({ content }, { outputSchema: count });

    expect(data).toEqual(content);
    expect(data).toBe((meta as { content: unknown }).content);
  });

  test("an empty schema does not parse text as JSON", () => {
    expect(read({ content: [text("1")] }, { outputSchema: Type.Unknown() }).data).toEqual([text("1")]);
  });
});

test("_meta is kept when it is an object", () => {
  expect(read({ content: [], _meta: { "a/b": 1 } }).meta).toEqual({
    source: "mcp",
    isError: false,
    content: [],
    _meta: { "a/b": 1 },
  });
  expect(read({ content: [], _meta: "unusual" }).meta).toEqual({ source: "mcp", isError: false, content: [] });
});

test("isError is true only for true", () => {
  expect(read({ content: [], isError: "yes" }).meta).toMatchObject({ isError: false });
});

test.each([[undefined], [null], ["text"], [[]]])("%j is not a result", (result) => {
  expect(() => read(result as unknown as MCPToolResult)).toThrow(expect.objectContaining({ code: "BAD_RESPONSE" }));
});

test("a request for input without onElicit is INPUT_REQUIRED", () => {
  expect(() => read({ resultType: "input_required", inputRequests: {} })).toThrow(
    expect.objectContaining({ code: "INPUT_REQUIRED", details: { operationId: "test.tool" } }),
  );
});
