import fc from "fast-check";
import { Value } from "typebox/value";
import { describe, expect, test } from "vitest";
import { unwrap } from "./client.ts";
import { httpEnvelope, isResponseEnvelope, localEnvelope, mcpEnvelope, RESPONSE_SOURCES } from "./envelope.ts";
import { MCPContentBlockSchema } from "./mcp-content.ts";
import { type HTTPResponseMeta, ResponseEnvelopeSchema, ResponseMetaSchema } from "./response-meta.ts";

const local = { source: "local", operationId: "task.create", timestamp: 1 };
const http = { source: "http", statusCode: 200, headers: {}, contentType: "text/plain" };
const mcp = { source: "mcp", isError: false, content: [] };
const metas = { local, http, mcp };

describe("creating envelopes", () => {
  test("a local envelope has the operation id and the time of wrapping", () => {
    const before = Date.now();

    const envelope = localEnvelope({ id: "123" }, "task.create");

    expect(envelope).toEqual({
      data: { id: "123" },
      meta: { source: "local", operationId: "task.create", timestamp: expect.any(Number) },
    });
    expect((envelope.meta as { timestamp: number }).timestamp).toBeGreaterThanOrEqual(before);
  });

  test("a void handler's envelope has data: undefined and is an envelope", () => {
    const envelope = localEnvelope(undefined, "task.remove");

    expect(Object.hasOwn(envelope, "data")).toBe(true);
    expect(isResponseEnvelope(envelope)).toBe(true);
    expect(Value.Check(ResponseEnvelopeSchema, envelope)).toBe(true);
  });

  test("an HTTP envelope keeps every field of the response", () => {
    const meta: Omit<HTTPResponseMeta, "source"> = {
      statusCode: 200,
      headers: { "content-type": "text/event-stream" },
      contentType: "text/event-stream",
      setCookie: ["a=1", "b=2"],
      event: { type: "tick", id: "7", retry: 100 },
    };

    const envelope = httpEnvelope("body", meta);

    expect(envelope).toEqual({ data: "body", meta: { source: "http", ...meta } });
    expect(Value.Check(ResponseEnvelopeSchema, envelope)).toBe(true);
  });

  test.each([0, false, null, "", [], { a: 1 }])("MCP structured content may be any JSON value: %j", (value) => {
    const envelope = mcpEnvelope(value, { isError: false, content: [], structuredContent: value, _meta: { a: 1 } });

    expect(unwrap(envelope)).toBe(value);
    expect(Value.Check(ResponseEnvelopeSchema, envelope)).toBe(true);
  });
});

describe("isResponseEnvelope", () => {
  test.each(Object.keys(metas))("accepts a %s envelope, also frozen, without prototype and after JSON", (source) => {
    const meta = metas[source as keyof typeof metas];
    const bare = Object.assign(Object.create(null), { data: 1, meta: Object.assign(Object.create(null), meta) });

    expect(isResponseEnvelope({ data: 1, meta })).toBe(true);
    expect(isResponseEnvelope(Object.freeze({ data: 1, meta: Object.freeze({ ...meta }) }))).toBe(true);
    expect(isResponseEnvelope(bare)).toBe(true);
    expect(isResponseEnvelope(JSON.parse(JSON.stringify({ data: 1, meta })))).toBe(true);
  });

  test.each(Object.keys(metas))("accepts a %s envelope that lost `data: undefined` to JSON", (source) => {
    const meta = metas[source as keyof typeof metas];
    const lost = JSON.parse(JSON.stringify({ data: undefined, meta }));

    expect(lost).toEqual({ meta });
    expect(isResponseEnvelope(lost)).toBe(true);
    expect(Value.Check(ResponseEnvelopeSchema, lost)).toBe(true);
  });

  test("every source has its meta", () => {
    expect(Object.keys(metas)).toEqual([...RESPONSE_SOURCES]);
  });

  const requiredFields = Object.values(metas).flatMap((meta) => Object.keys(meta).map((key) => ({ meta, key })));

  test.each(requiredFields)("rejects $meta.source without an own $key", ({ meta, key }) => {
    const value = (meta as Record<string, unknown>)[key];
    const { [key]: _, ...rest } = meta as Record<string, unknown>;

    expect(isResponseEnvelope({ data: 1, meta: rest })).toBe(false);
    expect(isResponseEnvelope({ data: 1, meta: { ...rest, [key]: { unusual: true, value }, headers: [] } })).toBe(
      false,
    );
    expect(isResponseEnvelope({ data: 1, meta: Object.assign(Object.create({ [key]: value }), rest) })).toBe(false);
  });

  test.each([
    ["nothing", undefined],
    ["null", null],
    ["a string", "data meta"],
    ["a function", Object.assign(() => {}, { data: 1, meta: local })],
    ["a page of results", { data: [], meta: { total: 3 } }],
    ["a meta of another kind", { data: [], meta: { source: "database" } }],
    ["a meta that is a string", { data: 1, meta: "local" }],
    ["a meta that is a list", { data: 1, meta: ["local"] }],
    ["inherited data", Object.assign(Object.create({ data: 1 }), { meta: local })],
    ["inherited meta", Object.assign(Object.create({ meta: local }), { data: 1 })],
    ["a prototype written in JSON", JSON.parse(`{"data":1,"__proto__":{"meta":${JSON.stringify(local)}}}`)],
    ["a prototype written in the meta", { data: 1, meta: JSON.parse(`{"__proto__":${JSON.stringify(local)}}`) }],
    ["a time that is not a number", { data: 1, meta: { ...local, timestamp: Number.NaN } }],
    ["a source from Object.prototype", { data: 1, meta: { source: "toString" } }],
  ])("rejects %s", (_, value) => {
    expect(isResponseEnvelope(value)).toBe(false);
  });

  test("returns a boolean for every value", () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(typeof isResponseEnvelope(value)).toBe("boolean");
      }),
    );
  });
});

describe("schemas", () => {
  const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
  const text = fc.string();
  const meta = fc.oneof(
    fc.record({ source: fc.constant("local"), operationId: text, timestamp: fc.integer() }),
    fc.record({
      source: fc.constant("http"),
      statusCode: fc.integer(),
      headers: fc.dictionary(text, text),
      contentType: text,
      setCookie: optional(fc.array(text)),
    }),
    fc.record({
      source: fc.constant("mcp"),
      isError: fc.boolean(),
      content: fc.array(fc.record({ type: fc.constant("text"), text })),
      structuredContent: fc.jsonValue(),
      drift: optional(fc.array(fc.record({ path: text, kind: fc.constantFrom("stripped", "mismatch") }))),
      driftTotal: optional(fc.nat()),
    }),
  );

  test("a value that matches ResponseEnvelopeSchema is an envelope", () => {
    fc.assert(
      fc.property(fc.jsonValue(), meta, (data, meta) => {
        expect(Value.Check(ResponseEnvelopeSchema, { data, meta })).toBe(true);
        expect(isResponseEnvelope({ data, meta })).toBe(true);
      }),
    );
  });

  test.each([
    { source: "local", operationId: 1, timestamp: 1 },
    { ...http, headers: { a: 1 } },
    { ...http, setCookie: "a=1" },
    { ...mcp, content: [{ type: "video", url: "x" }] },
    { ...local, drift: [{ path: "", kind: "swapped" }] },
    { ...local, driftTotal: "many" },
    { source: "ftp" },
  ])("a meta with an invalid field fails: %j", (meta) => {
    expect(Value.Check(ResponseMetaSchema, meta)).toBe(false);
  });

  test.each([
    { type: "text", text: "hi", annotations: { audience: ["user"], priority: 1, lastModified: "2026-01-01" } },
    { type: "image", data: "AA==", mimeType: "image/png" },
    { type: "audio", data: "AA==", mimeType: "audio/wav" },
    { type: "resource", resource: { uri: "file:///a", text: "a" } },
    { type: "resource_link", uri: "file:///a", name: "a" },
  ])("a $type block passes, and fails without its first field", (block) => {
    const { [Object.keys(block)[1]!]: _, ...rest } = block as Record<string, unknown>;

    expect(Value.Check(MCPContentBlockSchema, block)).toBe(true);
    expect(Value.Check(MCPContentBlockSchema, rest)).toBe(false);
  });

  test("the schemas are plain JSON", () => {
    expect(JSON.parse(JSON.stringify(ResponseEnvelopeSchema))).toMatchObject({
      type: "object",
      required: ["meta"],
    });
  });
});
