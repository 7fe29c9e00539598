import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  CallError,
  createRegistry,
  defineOperation,
  FromOpenAPI,
  type IOperationDefinition,
  mcpEnvelope,
  type OperationRegistry,
  type OperationSpec,
  Type,
} from "@alkdev/operations";
import { type MCPProtocol, mcpSource } from "@alkdev/operations/from-mcp";
import { type FetchServer, serveMCP } from "@alkdev/operations/serve-mcp";
import fc from "fast-check";
import type { TSchema } from "typebox";
import { describe, expect, onTestFinished, test } from "vitest";
import { coreOf } from "../../src/registry/inside.ts";

const protocols: MCPProtocol[] = ["legacy", "2026-07-28"];

function serve(registry: OperationRegistry, options: Partial<Parameters<typeof serveMCP>[1]> = {}): FetchServer {
  const server = serveMCP(registry, { authenticate: "none", mode: "tools", ...options });
  onTestFinished(() => server.close({ timeout: 0 }));
  return server;
}

/** Imports a server of this process. */
async function importFrom(
  server: FetchServer,
  protocol: MCPProtocol,
  config: { trust?: "operations" } = { trust: "operations" },
): Promise<OperationRegistry> {
  const registry = createRegistry({ operations: [] });
  const url = "http://localhost/mcp";
  const fetch = async (input: string | URL | Request, init?: RequestInit) => server.fetch(new Request(input, init));
  await registry.follow(mcpSource({ name: "back", url, fetch, protocol, ...config }));
  onTestFinished(() => registry.close());
  return registry;
}

/** A server that does not notify its clients of changes. */
function withoutNotifications(server: FetchServer): FetchServer {
  const fetch = async (request: Request): Promise<Response> => {
    const isStream = request.method === "GET" || request.headers.get("mcp-method") === "subscriptions/listen";
    return isStream ? new Response(null, { status: 405 }) : server.fetch(request);
  };
  return { ...server, fetch };
}

/** The specs that callers see, without the access rule, which is never published. */
function viewOf(registry: OperationRegistry): unknown {
  const specs = coreOf(registry)
    .publishedSpecs()
    .map(({ accessControl: _, ...spec }: OperationSpec) => spec);
  return JSON.parse(JSON.stringify(specs));
}

/** The outcome of a call: its data, or its error. */
async function outcomeOf(registry: OperationRegistry, id: string, input?: unknown): Promise<unknown> {
  try {
    return { data: (await registry.execute(id, input as never)).data };
  } catch (error) {
    return { error: error instanceof CallError ? error.toJSON() : error };
  }
}

const json = fc.jsonValue({ maxDepth: 4 }).filter((value) => !JSON.stringify(value).includes("__proto__"));
const word = fc.stringMatching(/^[a-z][a-z0-9_/-]{0,12}$/);

const { schema } = fc.letrec<{ schema: TSchema }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<TSchema>(
      Type.String({ format: "date-time", default: "2026-01-01T00:00:00Z" }),
      Type.Integer({ minimum: 1, description: "A count" }),
      Type.Boolean({ default: true }),
      Type.Null(),
      Type.Unknown(),
      Type.Literal("a"),
      Type.Cyclic({ Node: Type.Object({ next: Type.Optional(Type.Ref("Node")) }) }, "Node"),
    ),
    tie("schema").map((items) => Type.Array(items)),
    fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((branches) => Type.Union(branches)),
    fc.array(tie("schema"), { minLength: 1, maxLength: 2 }).map((items) => Type.Tuple(items)),
    fc.dictionary(word, tie("schema"), { maxKeys: 3, noNullPrototype: true }).map((each) => Type.Object(each)),
  ),
}));

const spec = fc.record(
  {
    namespace: fc.stringMatching(/^[a-z_]{1,8}$/),
    name: word,
    version: fc.constantFrom("1.0.0", "2.1.0"),
    type: fc.constantFrom("query" as const, "mutation" as const),
    description: fc.string(),
    inputSchema: schema,
    outputSchema: schema,
    title: fc.string(),
    tags: fc.array(word, { maxLength: 2 }),
    idempotent: fc.boolean(),
    outputPolicy: fc.constantFrom("cast" as const, "strict" as const),
    errorSchemas: fc.array(fc.record({ code: word, description: fc.string(), schema, httpStatus: fc.constant(409) }), {
      maxLength: 2,
    }),
  },
  { requiredKeys: ["namespace", "name", "version", "type", "description", "inputSchema", "outputSchema"] },
);

const any = { namespace: "test", inputSchema: Type.Unknown(), outputSchema: Type.Unknown() } as const;

describe.each(protocols)("an import of a served registry over %s", (protocol) => {
  test("restores every spec", async () => {
    const specs = fc.uniqueArray(spec, {
      minLength: 1,
      maxLength: 5,
      selector: (each) => `${each.namespace}.${each.name}`,
    });
    await fc.assert(
      fc.asyncProperty(specs, async (all) => {
        const accessControl = { requiredScopes: [] };
        const registry = createRegistry({ operations: [] });
        registry.registerAll(
          all.map((each): IOperationDefinition => ({ ...each, accessControl, handler: (input: unknown) => input })),
        );
        expect(viewOf(await importFrom(serve(registry), protocol))).toEqual(viewOf(registry));
      }),
      { numRuns: 25 },
    );
  });

  test("returns the same data", async () => {
    const echo = defineOperation({ ...any, name: "echo", type: "mutation", handler: (input: unknown) => input });
    const registry = createRegistry({ operations: [echo] });
    const back = await importFrom(serve(registry), protocol);
    await fc.assert(
      fc.asyncProperty(json, async (data) => {
        expect(await outcomeOf(back, "test.echo", data)).toEqual(await outcomeOf(registry, "test.echo", data));
      }),
    );
  });

  test("returns bytes, dates and undefined", async () => {
    const bytes = new Uint8Array([0, 255, 104]);
    const results = { bytes, buffer: bytes.buffer, date: new Date(0), nested: { at: new Date(0) }, nothing: undefined };
    const registry = createRegistry({
      operations: Object.entries(results).map(([name, data]) =>
        defineOperation({ ...any, name, type: "query", handler: () => data }),
      ),
    });
    const back = await importFrom(serve(registry), protocol);
    const dataOf = async (name: string) => (await back.execute(`test.${name}`, {})).data;
    expect(await dataOf("bytes")).toEqual(bytes);
    expect(await dataOf("buffer")).toEqual(bytes.buffer);
    expect(await dataOf("date")).toBe("1970-01-01T00:00:00.000Z");
    expect(await dataOf("nested")).toEqual({ at: "1970-01-01T00:00:00.000Z" });
    expect(await dataOf("nothing")).toBeUndefined();
  });

  test("returns data that does not match the output schema", async () => {
    const bytes = new Uint8Array([0, 255, 104]);
    const results = {
      number: { sum: "x" },
      string: "x",
      list: [{ type: "text", text: "x" }],
      bytes,
      nothing: undefined,
    };
    const declared = { ...any, outputSchema: Type.Object({ sum: Type.Number() }) };
    const registry = createRegistry({
      operations: Object.entries(results).map(([name, data]) =>
        defineOperation({ ...declared, name, type: "query", handler: () => data as never }),
      ),
    });
    const back = await importFrom(serve(registry), protocol);
    for (const [name, data] of Object.entries(results)) {
      const { data: restored, meta } = await back.execute(`test.${name}` as never, {} as never);
      expect([name, restored, meta.source === "mcp" && meta.isError]).toEqual([name, data, false]);
    }
  });

  test("returns data that a policy of the registry leaves as it is", async () => {
    const handler = () => ({ a: "42", extra: 1 }) as never;
    const outputSchema = Type.Object({ a: Type.Number() });
    const drifts = defineOperation({ ...any, name: "drifts", type: "query", outputSchema, handler });
    const registry = createRegistry({ operations: [drifts], outputPolicy: "check" });
    const back = await importFrom(serve(registry), protocol);
    expect((await back.execute("test.drifts", {})).data).toEqual({ a: "42", extra: 1 });
  });

  test("returns a property __proto__ of the data", async () => {
    const data = JSON.parse('{"__proto__":{"a":1},"b":{"__proto__":2}}');
    const open = defineOperation({ ...any, name: "open", type: "query", handler: () => data });
    const closed = { ...open, name: "closed", outputSchema: Type.Object({ b: Type.Unknown() }), outputPolicy: "check" };
    const registry = createRegistry({ operations: [open, closed as never] });
    const back = await importFrom(serve(registry), protocol);
    for (const id of ["test.open", "test.closed"]) {
      expect(JSON.stringify((await back.execute(id as never, {} as never)).data)).toBe(JSON.stringify(data));
    }
  });

  test("returns an error of another MCP server with its structured content", async () => {
    const content = [{ type: "text" as const, text: "no" }];
    const structuredContent = { reason: "no", code: 3 };
    const outputSchema = Type.Object({ sum: Type.Number() });
    const handler = () => mcpEnvelope(structuredContent, { isError: true, content, structuredContent }) as never;
    const fails = defineOperation({ ...any, name: "fails", type: "query", outputSchema, handler });
    const registry = createRegistry({ operations: [fails] });
    const back = await importFrom(serve(registry), protocol);
    const { data, meta } = await back.execute("test.fails", {});
    expect({ data, meta }).toEqual({
      data: structuredContent,
      meta: { source: "mcp", isError: true, content, structuredContent },
    });
  });

  test("throws the same errors", async () => {
    const fail = defineOperation({
      ...any,
      name: "fail",
      type: "mutation",
      handler: ({ code, message, details, ...options }) => {
        throw new CallError(code, message, details, options);
      },
      inputSchema: Type.Unsafe<{ code: string; message: string; details?: unknown }>(
        Type.Object({ code: Type.String() }),
      ),
    });
    const registry = createRegistry({ operations: [fail] });
    const back = await importFrom(serve(registry), protocol);
    const error = fc.record(
      { code: word, message: fc.string(), details: json, retryable: fc.boolean(), mayHaveRun: fc.boolean() },
      { requiredKeys: ["code", "message"] },
    );
    await fc.assert(
      fc.asyncProperty(error, async (input) => {
        expect(await outcomeOf(back, "test.fail", input)).toEqual(await outcomeOf(registry, "test.fail", input));
      }),
    );
    expect(await outcomeOf(back, "test.fail", {})).toEqual(await outcomeOf(registry, "test.fail", {}));
  });

  test("throws ACCESS_DENIED of an operation that has become private", async () => {
    const open = defineOperation({ ...any, name: "open", type: "query", handler: () => 1 });
    const registry = createRegistry({ operations: [open] });
    const server = serve(registry, { authenticate: () => undefined, allowAnonymous: true });
    const back = await importFrom(withoutNotifications(server), protocol);
    registry.replace({ ...open, accessControl: { requiredScopes: ["read"] } });
    expect(await outcomeOf(back, "test.open", {})).toEqual(await outcomeOf(registry, "test.open", {}));
  });

  test("throws the error of a request that is too large", async () => {
    const echo = defineOperation({ ...any, name: "echo", type: "mutation", handler: (input: unknown) => input });
    const server = serve(createRegistry({ operations: [echo] }), { limits: { requestBytes: 2_000 } });
    const back = await importFrom(server, protocol);
    expect(await outcomeOf(back, "test.echo", "x".repeat(2_000))).toMatchObject({
      error: { code: "PAYLOAD_TOO_LARGE", details: { limit: "requestBytes", allowed: 2_000 }, mayHaveRun: false },
    });
  });

  test("has a subscription as a query that returns its first values", async () => {
    const count = defineOperation({
      ...any,
      name: "count",
      type: "subscription",
      async *handler() {
        yield* [1, 2];
      },
    });
    const back = await importFrom(serve(createRegistry({ operations: [count] })), protocol);
    expect(back.getSpec("test.count")!.type).toBe("query");
    expect((await back.execute("test.count", {})).data).toEqual({ values: [1, 2], complete: true });
  });

  test("without trust has an error with the data for data that does not match the output schema", async () => {
    const handler = () => "x" as never;
    const drifts = defineOperation({ ...any, name: "drifts", type: "query", outputSchema: Type.Number(), handler });
    const back = await importFrom(serve(createRegistry({ operations: [drifts] })), protocol, {});
    const { meta } = await back.execute("back.test_drifts", {});
    expect(meta).toMatchObject({
      isError: true,
      content: [{ text: "x" }, { text: expect.stringContaining("number") }],
    });
  });

  test("without trust has tools of a foreign server", async () => {
    const add = defineOperation({
      namespace: "math",
      name: "add",
      type: "query",
      inputSchema: Type.Object({ a: Type.Number(), b: Type.Number() }),
      outputSchema: Type.Number(),
      handler: ({ a, b }) => {
        if (a > 9) throw new CallError("TOO_LARGE", "Too large.");
        return a + b;
      },
    });
    const back = await importFrom(serve(createRegistry({ operations: [add] })), protocol, {});
    expect(back.getSpec("back.math_add")).toMatchObject({ type: "mutation", outputSchema: { type: "number" } });
    expect((await back.execute("back.math_add", { a: 1, b: 2 })).data).toBe(3);
    const failed = await back.execute("back.math_add", { a: 10, b: 2 });
    expect(failed.meta).toMatchObject({ source: "mcp", isError: true, content: [{ text: "TOO_LARGE: Too large." }] });
  });
});

test("an import over a version before 2025-11-25 throws the same errors", async () => {
  const handler = () => {
    throw new CallError("VALIDATION_ERROR", "The date is in the past.", { field: "date" });
  };
  const fail = defineOperation({ ...any, name: "fail", type: "mutation", handler });
  const registry = createRegistry({ operations: [fail] });
  const server = serve(registry);
  // A proxy that speaks an older version.
  const fetch = async (request: Request): Promise<Response> => {
    if (request.method !== "POST") return server.fetch(request);
    const body = (await request.text()).replace('"protocolVersion":"2025-11-25"', '"protocolVersion":"2025-06-18"');
    return server.fetch(new Request(request.url, { method: "POST", headers: request.headers, body }));
  };
  const back = await importFrom({ ...server, fetch }, "legacy");
  expect(await outcomeOf(back, "test.fail", {})).toEqual(await outcomeOf(registry, "test.fail", {}));
});

test("GitHub's operations are found, described and called in search mode", async () => {
  const path = fileURLToPath(import.meta.resolve("@octokit/openapi/generated/api.github.com.json"));
  const requests: string[] = [];
  const registry = createRegistry({ operations: [] });
  registry.registerAll(
    FromOpenAPI(JSON.parse(readFileSync(path, "utf8")), {
      namespace: "github",
      baseUrl: "https://api.github.com",
      fetch: async (input, init) => {
        const { method, url } = new Request(input, init);
        requests.push(`${method} ${url}`);
        return Response.json({ id: 1, title: "Broken" }, { status: 201 });
      },
    }),
  );
  const back = await importFrom(serve(registry, { mode: "auto" }), "2026-07-28", {});
  const names = ["call_operation", "describe_operation", "search_operations"];
  expect(
    back
      .list()
      .map(({ name }) => name)
      .sort(),
  ).toEqual(names);
  const call = async <T>(tool: string, input: object) => (await back.execute(`back.${tool}`, input)).data as T;
  const search = async (query: string): Promise<string[]> => {
    const { operations } = await call<{ operations: Array<{ operation: string }> }>("search_operations", { query });
    return operations.map((each) => each.operation);
  };
  const operation = "github.issues/create";
  expect((await search("create an issue")).slice(0, 5)).toContain(operation);
  expect(await call("describe_operation", { operation })).toMatchObject({
    operation,
    inputSchema: { required: expect.arrayContaining(["owner", "repo", "body"]) },
  });
  const ids = registry.list().map(({ namespace, name }) => `${namespace}.${name}`);
  expect(ids).toHaveLength(1_223);
  for (const id of ids.filter((_, index) => index % 50 === 0)) {
    expect(await search(id)).toContain(id);
    expect(await call("describe_operation", { operation: id })).toMatchObject({ operation: id });
  }
  const input = { owner: "octo", repo: "cat", body: { title: "Broken" } };
  expect(await call("call_operation", { operation, input })).toMatchObject({ id: 1, title: "Broken" });
  expect(requests).toEqual(["POST https://api.github.com/repos/octo/cat/issues"]);
});

test.each(protocols)("an HTTP API is served over %s and imported back", async (protocol) => {
  const path = fileURLToPath(new URL("../fixtures/openapi/oai-petstore-30.json", import.meta.url));
  const fetch = async (input: string | URL | Request) => {
    const { pathname } = new URL(new Request(input).url);
    const pet = { id: 1, name: "Rex", extra: "dropped" };
    return pathname.endsWith("/404")
      ? Response.json({ code: 7, message: "no such pet" }, { status: 404, headers: { "set-cookie": "a=b" } })
      : Response.json(pathname.endsWith("/pets") ? [pet] : pet);
  };
  const registry = createRegistry({ operations: [] });
  registry.registerAll(
    FromOpenAPI(JSON.parse(readFileSync(path, "utf8")), { namespace: "pets", baseUrl: "https://pets.test/v1", fetch }),
  );
  const back = await importFrom(serve(registry), protocol);
  expect(viewOf(back)).toEqual(viewOf(registry));
  for (const [id, input] of [
    ["pets.listPets", { limit: 1 }],
    ["pets.showPetById", { petId: "1" }],
  ] as const) {
    expect(await outcomeOf(back, id, input)).toEqual(await outcomeOf(registry, id, input));
  }
  const failed = JSON.stringify(await outcomeOf(back, "pets.showPetById", { petId: "404" }));
  expect(failed).toContain("no such pet");
  expect(failed).not.toContain("a=b");
});
