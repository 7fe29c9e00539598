import { describe, expect, test } from "vitest";
import type { JSONObject } from "../../internal/objects.ts";
import { type CallError, isCallError } from "../../operation/index.ts";
import { OperationRegistry } from "../../registry/index.ts";
import type { SourceReport } from "../source.ts";
import { type OpenAPISource, openAPISource, type TrustedSourceConfig } from "./index.ts";

const url = "https://hub.test/api/openapi.json";
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** The description of an operation in the document of a server. */
function described(overrides: JSONObject = {}): JSONObject {
  return {
    namespace: "task",
    name: "create",
    version: "1.0.0",
    type: "mutation",
    description: "Creates a task.",
    inputSchema: reference("input"),
    outputSchema: reference("output"),
    ...overrides,
  };
}

/** The document of a server with these operations. Paths and methods are those of an attacker, which do not matter. */
function documentOf(operations: readonly unknown[], schemas: JSONObject = {}): JSONObject {
  const entries = operations.map((each, index) => [
    `/path${index}`,
    { post: { operationId: `op${index}`, servers: [{ url: "https://evil.test" }], "x-alkdev-operation": each } },
  ]);
  return {
    openapi: "3.1.0",
    info: { title: "Hub", version: "1.0.0" },
    servers: [{ url: "https://evil.test/" }],
    paths: Object.fromEntries(entries),
    components: { schemas: { input: { type: "object" }, output: {}, ...schemas } },
  };
}

interface Import {
  registry: OperationRegistry;
  source: OpenAPISource;
  report: SourceReport;
  sent: Request[];
}

const envelope = (data: unknown, more: object = {}) => ({
  data,
  meta: { source: "local", operationId: "task.create", timestamp: 1 },
  ...more,
});

function respondWith(body: unknown, type = "application/vnd.alkdev.envelope+json", status = 200): () => Response {
  return () => new Response(JSON.stringify(body), { status, headers: { "content-type": type } });
}

async function importFrom(
  document: JSONObject,
  config: Partial<TrustedSourceConfig> = {},
  respond: (request: Request) => Response = respondWith(envelope(null)),
): Promise<Import> {
  const sent: Request[] = [];
  let report: SourceReport = { imported: [], skipped: [], warnings: [] };
  const source = openAPISource(url, {
    trust: "operations",
    onReport: (latest) => {
      report = latest;
    },
    ...config,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      if (request.url === url) return Response.json(document);
      sent.push(request);
      return respond(request);
    },
  });
  const registry = new OperationRegistry({ log: false });
  await registry.follow(source);
  return { registry, source, report, sent };
}

async function failureOf(call: Promise<unknown>): Promise<CallError> {
  const error = await call.then(
    (value) => value,
    (thrown: unknown) => thrown,
  );
  if (isCallError(error)) return error;
  throw new Error(`Expected a CallError, got ${JSON.stringify(error)}`);
}

describe("an import with trust", () => {
  test("sends the input with POST to the origin of the document, whatever server the document declares", async () => {
    const operation = described({
      name: "a b/c",
      accessControl: { requiredScopes: [], customAuth: "x" },
      _meta: { serve: 1 },
    });
    const { registry, report, sent } = await importFrom(documentOf([operation]), {
      auth: { type: "bearer", token: "secret-token" },
      accessControl: { requiredScopes: ["hub"] },
    });
    expect(report).toEqual({ imported: ["task.a b/c"], skipped: [], warnings: [] });
    expect(registry.getSpec("task.a b/c")).toMatchObject({ accessControl: { requiredScopes: ["hub"] } });
    expect(registry.getSpec("task.a b/c")).not.toHaveProperty("_meta");
    expect(registry.getSpec("task.a b/c")?.accessControl).not.toHaveProperty("customAuth");

    await registry.execute("task.a b/c", { title: "x" }, { identity: { id: "ada", scopes: ["hub"] }, timeout: 4_500 });
    const [request] = sent;
    expect(sent).toHaveLength(1);
    expect([request!.method, request!.url]).toEqual(["POST", "https://hub.test/api/task/a%20b/c"]);
    expect(await request!.json()).toEqual({ title: "x" });
    expect(Object.fromEntries(request!.headers)).toEqual({
      accept: "application/vnd.alkdev.envelope+json",
      authorization: "Bearer secret-token",
      "content-type": "application/json",
      prefer: "wait=5",
    });
    expect((await failureOf(registry.execute("task.a b/c", {}))).code).toBe("ACCESS_DENIED");
  });

  test("uses baseUrl, one namespace, other names and filters", async () => {
    const operations = [described(), described({ name: "drop" }), described({ namespace: "user", name: "list" })];
    const { registry, sent } = await importFrom(documentOf(operations), {
      baseUrl: "https://other.test/v2/",
      namespace: "hub",
      rename: { create: "make" },
      exclude: ["drop"],
    });
    expect(registry.getAllSpecs().map(({ namespace, name }) => `${namespace}.${name}`)).toEqual([
      "hub.make",
      "hub.list",
    ]);
    await registry.execute("hub.make", {});
    await registry.execute("hub.list", {});
    expect(sent.map((request) => request.url)).toEqual([
      "https://other.test/v2/task/create",
      "https://other.test/v2/user/list",
    ]);
  });

  test("skips an invalid operation and reports the reason", async () => {
    const { registry, report } = await importFrom(
      documentOf([
        undefined,
        described({ namespace: "a.b" }),
        described({ name: "line\nbreak" }),
        described({ type: "other" }),
        described({ name: "../admin" }),
        described({ name: "inline", inputSchema: { type: "object" } }),
        described({ name: "lost", outputSchema: reference("lost") }),
        described({ name: "inherited", outputSchema: reference("constructor") }),
        described({ name: "errors", errorSchemas: [{ code: 1, schema: reference("output") }] }),
        described(),
        described({ description: "A second one." }),
      ]),
    );
    expect(registry.list().map(({ name }) => name)).toEqual(["create"]);
    expect(report.skipped.map(({ reason }) => reason)).toEqual([
      'It has no "x-alkdev-operation". Import it without trust.',
      expect.stringContaining("/namespace must be 1 to 64 characters"),
      expect.stringContaining("/name must be 1 to 256 characters"),
      expect.stringContaining("/type must be"),
      "Its name cannot be part of a URL.",
      "Its schemas are not components of the document.",
      "Its schemas are not components of the document.",
      "Its schemas are not components of the document.",
      expect.stringContaining("/errorSchemas/0/code"),
      'The id "task.create" is already used by another operation.',
    ]);
  });

  test("imports nothing with an access rule that is null by mistake", async () => {
    const { registry, report } = await importFrom(documentOf([described()]), { accessControl: null as never });
    expect(registry.list()).toEqual([]);
    expect(report.skipped).toEqual([
      { where: "#/paths/~1path0/post", reason: expect.stringContaining("/accessControl must be") },
    ]);
  });

  test("restores schemas as the server has them, and refuses input for one that exceeds a limit", async () => {
    const node = { $id: "https://example.com/node", properties: { next: { $ref: "node" } } };
    const deep = `${'{"not":'.repeat(300)}{}${"}".repeat(300)}`;
    const { registry } = await importFrom(
      documentOf([described(), described({ name: "deep", inputSchema: reference("deep") })], {
        input: { properties: { all: reference("input"), leaf: reference("input/$defs/leaf") }, $defs: { leaf: {} } },
        output: { "x-alkdev-source": JSON.stringify(node) },
        deep: { "x-alkdev-source": deep },
      }),
    );
    const { inputSchema, outputSchema } = registry.getSpec("task.create")!;
    expect(inputSchema).toEqual({
      properties: { all: { $ref: "#" }, leaf: { $ref: "#/$defs/leaf" } },
      $defs: { leaf: {} },
    });
    expect(outputSchema).toEqual(node);
    expect((await failureOf(registry.execute("task.deep", {}))).code).toBe("VALIDATION_ERROR");
  });

  test("limits the number of operations", async () => {
    const operations = [described(), described({ name: "second" })];
    await expect(importFrom(documentOf(operations), { limits: { operations: 1 } })).rejects.toMatchObject({
      code: "LIMIT_EXCEEDED",
    });
  });

  test("needs a URL that the document cannot choose", async () => {
    const document = documentOf([described()]);
    await expect(openAPISource(document, { trust: "operations" }).load()).rejects.toThrow(
      "With trust, the document must be read from a URL, or baseUrl must be set.",
    );
    const config = { trust: "everything" } as unknown as TrustedSourceConfig;
    expect(() => openAPISource(document, config)).toThrow('trust must be "operations", or be omitted.');
  });

  test.each([
    ["data and drift", envelope(1, { meta: { source: "local", operationId: "x", timestamp: 1, drift: [] } }), 1],
    ["no data", { meta: envelope(1).meta }, undefined],
    ["bytes", envelope("AQL+", { encoding: "base64" }), new Uint8Array([1, 2, 254])],
  ])("returns %s with the meta of the response", async (_, body, data) => {
    const { registry } = await importFrom(documentOf([described()]), {}, respondWith(body));
    const result = await registry.execute("task.create", {});
    expect(result.data).toEqual(data);
    expect(result.meta).toMatchObject({ source: "http", statusCode: 200 });
  });

  test("keeps the result of an MCP tool that reports an error", async () => {
    const tool = { data: null, meta: { source: "mcp", isError: true, content: [{ type: "text", text: "No." }] } };
    const { registry } = await importFrom(documentOf([described()]), {}, respondWith(tool));
    expect(await registry.execute("task.create", {})).toEqual(tool);
  });

  test.each([
    ["text", "Hello"],
    ["data without meta", { data: 1 }],
    ["unknown meta", envelope(1, { meta: { source: "moon" } })],
    ["an unknown encoding", envelope("x", { encoding: "rot13" })],
    ["malformed bytes", envelope("§", { encoding: "base64" })],
  ])("refuses a response with %s", async (_, body) => {
    const { registry } = await importFrom(documentOf([described()]), {}, respondWith(body));
    expect(await failureOf(registry.execute("task.create", {}))).toMatchObject({ code: "BAD_RESPONSE" });
  });

  test("throws the error of the server, but not one that a proxy sent", async () => {
    const problem = {
      code: "TITLE_TAKEN",
      detail: "It is taken.",
      details: { title: "x" },
      retryable: true,
      mayHaveRun: false,
    };
    const own = await importFrom(documentOf([described()]), {}, respondWith(problem, "application/problem+json", 422));
    expect((await failureOf(own.registry.execute("task.create", {}))).toJSON()).toEqual({
      code: "TITLE_TAKEN",
      message: "It is taken.",
      details: { title: "x" },
      retryable: true,
      mayHaveRun: false,
    });
    const foreign = await importFrom(
      documentOf([described()]),
      {},
      respondWith({ title: "Bad" }, "application/problem+json", 502),
    );
    expect(await failureOf(foreign.registry.execute("task.create", {}))).toMatchObject({
      code: "EXECUTION_ERROR",
      details: { status: 502 },
    });
  });
});

describe("a subscription with trust", () => {
  const changes = documentOf([described({ name: "changes", type: "subscription" })]);
  const value = (data: unknown, id: number) => `id: ${id}\ndata: ${JSON.stringify(envelope(data))}\n\n`;
  const end = ": end\nevent: end\nid: end\n\n";

  async function subscribeTo(text: string, config: Partial<TrustedSourceConfig> = {}, ...later: string[]) {
    const streams = [text, ...later];
    const respond = () => new Response(streams.shift(), { headers: { "content-type": "text/event-stream" } });
    const { registry, sent } = await importFrom(changes, config, respond);
    const values: unknown[] = [];
    const ids: unknown[] = [];
    let error: CallError | undefined;
    try {
      for await (const { data, meta } of registry.subscribe("task.changes", {})) {
        values.push(data);
        ids.push(meta.source === "http" ? meta.event?.id : undefined);
      }
    } catch (thrown) {
      error = thrown as CallError;
    }
    return { values, ids, error: error?.code, sent };
  }

  test("yields values with their ids until the server ends it", async () => {
    const { sent, ...outcome } = await subscribeTo(
      `${value("a", 0)}:\n\n${value("[DONE]", 1)}${value(null, 2)}${end}`,
      { reconnect: true },
    );
    expect(outcome).toEqual({ values: ["a", "[DONE]", null], ids: ["0", "1", "2"], error: undefined });
    expect(sent).toHaveLength(1);
    expect(sent[0]!.headers.get("accept")).toBe("text/event-stream, application/vnd.alkdev.envelope+json");
  });

  test("fails with the problem that the server sends", async () => {
    const problem = 'event: problem\ndata: {"code":"GONE","detail":"It is gone."}\n\n';
    expect(await subscribeTo(value(1, 0) + problem)).toMatchObject({ values: [1], error: "GONE" });
  });

  test("fails when the stream ends without an end, or resumes after the last value", async () => {
    expect(await subscribeTo(value(1, 0))).toMatchObject({ values: [1], error: "UNAVAILABLE" });
    const reconnect = { delay: 1, maxDelay: 1 };
    const { sent, ...outcome } = await subscribeTo(value(1, 0), { reconnect }, value(2, 1) + end);
    expect(outcome).toEqual({ values: [1, 2], ids: ["0", "1"], error: undefined });
    expect(sent.map((request) => request.headers.get("last-event-id"))).toEqual([null, "0"]);
  });

  test.each(["Hello", "{}", '{"data":1}'])("refuses an event with the data %s", async (data) => {
    expect(await subscribeTo(`data: ${data}\n\n${end}`)).toMatchObject({ values: [], error: "BAD_RESPONSE" });
  });
});

test("a trusted source is named after its server, or after its namespace", () => {
  expect(openAPISource(url, { trust: "operations" }).name).toBe("openapi:hub-test");
  expect(openAPISource(url, { trust: "operations", namespace: "task" }).name).toBe("openapi:task");
});
