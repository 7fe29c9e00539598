// The code samples of the original specification run unchanged.
import { fileURLToPath } from "node:url";
import {
  assertIsSchema,
  buildEnv,
  CallError,
  FromSchema,
  type HTTPResponseMeta,
  httpEnvelope,
  InfrastructureErrorCode,
  isResponseEnvelope,
  type LocalResponseMeta,
  localEnvelope,
  type MCPAnnotations,
  type MCPContentBlock,
  type MCPResourceContent,
  type MCPResponseMeta,
  mcpEnvelope,
  OperationRegistry,
  type OperationSpec,
  OperationSpecSchema,
  OperationType,
  RESPONSE_SOURCES,
  type ResponseEnvelope,
  ResponseEnvelopeSchema,
  type ResponseMeta,
  ResponseMetaSchema,
  type ResponseSource,
  type ScannerFS,
  scanOperations,
  subscribe,
  unwrap,
} from "@alkdev/operations";
import { nodeFileSystem } from "@alkdev/operations/node";
import { Type } from "typebox";
import { Value } from "typebox/value";
import { describe, expect, expectTypeOf, test } from "vitest";
import specOnly from "./seeds/spec-only/myOperation.ts";
import withHandler from "./seeds/with-handler/myOperation.ts";

describe("response envelopes", () => {
  test("localEnvelope", () => {
    const env = localEnvelope({ id: "123", title: "My task" }, "task.create");

    expect(env).toEqual({
      data: { id: "123", title: "My task" },
      meta: { source: "local", operationId: "task.create", timestamp: expect.any(Number) },
    });
    expectTypeOf(env).toEqualTypeOf<ResponseEnvelope<{ id: string; title: string }>>();
  });

  test("httpEnvelope", () => {
    const data = { ok: true };

    const env = httpEnvelope(data, {
      statusCode: 200,
      headers: { "content-type": "application/json" },
      contentType: "application/json",
    });

    expect(env).toEqual({
      data,
      meta: {
        source: "http",
        statusCode: 200,
        headers: { "content-type": "application/json" },
        contentType: "application/json",
      },
    });
  });

  test("mcpEnvelope", () => {
    const data = { ok: true };

    const env = mcpEnvelope(data, {
      isError: false,
      content: [{ type: "text", text: "Done" }],
    });

    expect(env).toEqual({ data, meta: { source: "mcp", isError: false, content: [{ type: "text", text: "Done" }] } });
  });

  test("unwrap", () => {
    const envelope = localEnvelope({ id: "123" }, "task.create");

    const result = unwrap(envelope);

    expect(result).toBe(envelope.data);
  });

  test("isResponseEnvelope narrows", () => {
    const maybeEnvelope: unknown = localEnvelope(undefined, "task.remove");

    if (!isResponseEnvelope(maybeEnvelope)) expect.fail("not an envelope");

    expectTypeOf(maybeEnvelope).toEqualTypeOf<ResponseEnvelope>();
    expect(maybeEnvelope.meta.source).toBe("local");
  });

  test("RESPONSE_SOURCES is the closed set of sources", () => {
    expect(RESPONSE_SOURCES).toEqual(["local", "http", "mcp"]);
    expectTypeOf<ResponseSource>().toEqualTypeOf<"local" | "http" | "mcp">();
    expectTypeOf<ResponseMeta>().toEqualTypeOf<LocalResponseMeta | HTTPResponseMeta | MCPResponseMeta>();
  });

  test("the schemas validate at run time", () => {
    const value: unknown = localEnvelope(1, "a.b");

    expect(Value.Check(ResponseEnvelopeSchema, value)).toBe(true);
    expect(Value.Check(ResponseMetaSchema, (value as ResponseEnvelope).meta)).toBe(true);
    expect(Value.Check(ResponseEnvelopeSchema, { data: 1, meta: { source: "ftp" } })).toBe(false);
  });

  test("content blocks are our own types", () => {
    expectTypeOf<MCPContentBlock>().toEqualTypeOf<
      | { type: "text"; text: string; annotations?: MCPAnnotations }
      | { type: "image"; data: string; mimeType: string; annotations?: MCPAnnotations }
      | { type: "audio"; data: string; mimeType: string; annotations?: MCPAnnotations }
      | { type: "resource"; resource: MCPResourceContent; annotations?: MCPAnnotations }
      | { type: "resource_link"; uri: string; name: string; description?: string; mimeType?: string }
    >();
    expectTypeOf<MCPResourceContent>().toEqualTypeOf<{
      uri: string;
      mimeType?: string;
      text?: string;
      blob?: string;
    }>();
    expectTypeOf<MCPAnnotations>().toEqualTypeOf<{
      audience?: Array<"user" | "assistant">;
      priority?: number;
      lastModified?: string;
    }>();
  });
});

describe("FromSchema", () => {
  test("usage", () => {
    const typeboxSchema = FromSchema({
      type: "object",
      properties: { name: { type: "string" } },
      required: ["name"],
    });

    expect(Value.Check(typeboxSchema, { name: "a" })).toBe(true);
    expect(Value.Check(typeboxSchema, { name: 1 })).toBe(false);
    expect(Value.Check(typeboxSchema, {})).toBe(false);
    expect(() => assertIsSchema(typeboxSchema)).not.toThrow();
  });

  test.each<[string, object, unknown[], unknown[]]>([
    [
      "allOf",
      {
        allOf: [
          { type: "object", required: ["a"] },
          { type: "object", required: ["b"] },
        ],
      },
      [{ a: 1, b: 1 }],
      [{ a: 1 }],
    ],
    ["anyOf", { anyOf: [{ type: "string" }, { type: "number" }] }, ["a", 1], [true]],
    ["oneOf, exclusive", { oneOf: [{ type: "number" }, { type: "integer" }] }, [1.5], [1, "a"]],
    ["enum", { enum: ["red", "green", null] }, ["red", null], ["blue"]],
    [
      "object",
      { type: "object", properties: { a: { type: "string" }, b: { type: "number" } }, required: ["a"] },
      [{ a: "x" }, { a: "x", b: 1 }],
      [{ b: 1 }, { a: "x", b: "y" }],
    ],
    [
      "array with items array",
      { type: "array", items: [{ type: "string" }, { type: "number" }] },
      [["a", 1]],
      [[1, "a"]],
    ],
    ["array with items object", { type: "array", items: { type: "string" } }, [[], ["a"]], [[1]]],
    ["const", { const: "fixed" }, ["fixed"], ["other"]],
    ["$ref", { $ref: "#/$defs/name", $defs: { name: { type: "string" } } }, ["a"], [1]],
    ["string", { type: "string", minLength: 2 }, ["ab"], ["a", 1]],
    ["number", { type: "number", minimum: 1 }, [1.5], [0, "1"]],
    ["integer", { type: "integer" }, [1], [1.5]],
    ["boolean", { type: "boolean" }, [true], ["true"]],
    ["null", { type: "null" }, [null], [0, ""]],
    ["unrecognized", { description: "anything" }, [1, "a", null, {}], []],
  ])("%s accepts and rejects as in the table of conversions", async (_, schema, accepted, rejected) => {
    const registry = new OperationRegistry();
    registry.register({
      namespace: "test",
      name: "take",
      version: "1.0.0",
      type: OperationType.QUERY,
      description: "Takes what its schema accepts",
      inputSchema: FromSchema(schema),
      outputSchema: Type.Unknown(),
      accessControl: { requiredScopes: [] },
      handler: (input) => input,
    });

    for (const value of accepted) expect(unwrap(await registry.execute("test.take", value))).toEqual(value);
    for (const value of rejected) {
      await expect(registry.execute("test.take", value)).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
    }
  });
});

describe("scanner", () => {
  const directory = (name: string) => fileURLToPath(new URL(`./seeds/${name}`, import.meta.url));
  // Here the package's name means its sources, which only the test runner's own import knows.
  const fs: ScannerFS = { ...nodeFileSystem, import: (url) => import(/* @vite-ignore */ url) };
  const reader = { identity: { id: "ann", scopes: ["read"] } };

  test("spec and handler together", async () => {
    const registry = new OperationRegistry();

    const operations = await scanOperations(directory("with-handler"), fs);
    for (const { handler, ...spec } of operations) registry.register({ ...spec, handler: handler! });

    expect(operations).toEqual([withHandler]);
    const envelope = await registry.execute("myapp.myOperation", { name: "World" }, reader);
    expect(envelope).toEqual({
      data: { result: "Hello, World" },
      meta: { source: "local", operationId: "myapp.myOperation", timestamp: expect.any(Number) },
    });
  });

  test("spec only, the handler registered separately", async () => {
    const registry = new OperationRegistry();
    const myHandler = async (input: { name: string }) => ({ result: `Hello, ${input.name}` });

    const [scannedSpec]: OperationSpec[] = await scanOperations(directory("spec-only"), fs);
    registry.registerSpec(scannedSpec!);
    registry.registerHandler("myapp.myOperation", myHandler);

    expect(scannedSpec).toEqual(specOnly);
    expect(Value.Check(OperationSpecSchema, scannedSpec)).toBe(true);
    expect(unwrap(await registry.execute("myapp.myOperation", { name: "World" }, reader))).toEqual({
      result: "Hello, World",
    });
    await expect(registry.execute("myapp.myOperation", { name: "World" })).rejects.toMatchObject({
      code: "ACCESS_DENIED",
    });
  });
});

describe("calls", () => {
  const outputSchema = Type.Object({ temperature: Type.Number(), unit: Type.String({ default: "C" }) });

  /** An operation that returns the value of the test. */
  function weather(handler: () => unknown) {
    const registry = new OperationRegistry();
    registry.register({
      namespace: "weather",
      name: "today",
      version: "1.0.0",
      type: OperationType.QUERY,
      description: "Today's weather",
      inputSchema: Type.Object({}),
      outputSchema,
      accessControl: { requiredScopes: [] },
      handler,
    });
    return registry;
  }

  test("a raw value is wrapped, cast to the output schema and reported", async () => {
    const registry = weather(() => ({ temperature: 21, station: "x" }));

    const envelope = await registry.execute("weather.today", {});

    expect(envelope.data).toEqual({ temperature: 21, unit: "C" });
    expect(envelope.meta.source).toBe("local");
    expect(envelope.meta.drift?.map(({ path, kind }) => `${kind} ${path}`).sort()).toEqual([
      "filled /unit",
      "stripped /station",
    ]);
  });

  test("an envelope that a handler returns passes with its meta", async () => {
    const meta = { statusCode: 200, headers: { "x-page": "2" }, contentType: "application/json" };
    const registry = weather(() => httpEnvelope({ temperature: 21, unit: "F" }, meta));

    const envelope = await registry.execute("weather.today", {});

    expect(envelope).toEqual({ data: { temperature: 21, unit: "F" }, meta: { source: "http", ...meta } });
  });

  test("an MCP error result is an envelope, untouched, and not a thrown error", async () => {
    const content: MCPContentBlock[] = [{ type: "text", text: "no such city" }];
    const registry = weather(() => mcpEnvelope(content, { isError: true, content }));

    const envelope = await registry.execute("weather.today", {});

    expect(envelope).toEqual({ data: content, meta: { source: "mcp", isError: true, content } });
  });

  test("HTTP errors of a handler are CallErrors", async () => {
    const registry = weather(() => {
      throw new CallError("EXECUTION_ERROR", "HTTP 404: Not Found");
    });

    await expect(registry.execute("weather.today", {})).rejects.toMatchObject({
      code: InfrastructureErrorCode.EXECUTION_ERROR,
      message: "HTTP 404: Not Found",
    });
  });

  test("functions of buildEnv return envelopes", async () => {
    const registry = weather(() => ({ temperature: 21, unit: "C" }));

    const env = buildEnv({ registry, context: {} });

    expect(unwrap(await env["weather"]!["today"]!({}))).toEqual({ temperature: 21, unit: "C" });
  });

  test("every value of a subscription is wrapped, envelopes pass", async () => {
    const registry = new OperationRegistry();
    const remote = mcpEnvelope(2, { isError: false, content: [] });
    registry.register({
      namespace: "clock",
      name: "ticks",
      version: "1.0.0",
      type: OperationType.SUBSCRIPTION,
      description: "Counts",
      inputSchema: Type.Object({}),
      outputSchema: Type.Number(),
      accessControl: { requiredScopes: [] },
      async *handler() {
        yield 1;
        yield remote;
      },
    });

    const envelopes = [];
    for await (const envelope of subscribe(registry, "clock.ticks", {})) envelopes.push(envelope);

    expect(envelopes).toEqual([
      { data: 1, meta: { source: "local", operationId: "clock.ticks", timestamp: expect.any(Number) } },
      remote,
    ]);
  });
});
