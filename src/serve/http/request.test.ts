import { describe, expect, test } from "vitest";
import { Type } from "../../index.ts";
import { operation, read, serve } from "./testing.ts";

const input = Type.Object({
  text: Type.Optional(Type.String()),
  count: Type.Optional(Type.Integer()),
  size: Type.Optional(Type.Number()),
  isDone: Type.Optional(Type.Boolean()),
  kind: Type.Optional(Type.Union([Type.Literal("a"), Type.Literal("b")])),
  maybe: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  either: Type.Optional(Type.Union([Type.String(), Type.Number()])),
  pair: Type.Optional(Type.Unsafe<unknown>({ type: "array", prefixItems: [Type.String()], items: Type.Number() })),
  tags: Type.Optional(Type.Array(Type.String())),
  sizes: Type.Optional(Type.Array(Type.Number())),
  nested: Type.Optional(Type.Object({ a: Type.Integer() })),
  "own name&=": Type.Optional(Type.String()),
});

describe("query parameters", () => {
  test.each([
    ["text=", { text: "" }],
    ["text", { text: "" }],
    ["text=a+b%2Bc", { text: "a b+c" }],
    ["text=1&count=2&size=1.5e3&isDone=false", { text: "1", count: 2, size: 1500, isDone: false }],
    ["kind=a", { kind: "a" }],
    ["maybe=null", { maybe: null }],
    ["maybe=%22null%22", { maybe: "null" }],
    ["either=-12", { either: -12 }],
    ["either=%20123456789012345680000", { either: 123456789012345680000 }],
    ["either=%229007199254740993%22", { either: "9007199254740993" }],
    ["pair=[%22a%22,1]", { pair: ["a", 1] }],
    ["tags=1&tags=2", { tags: ["1", "2"] }],
    ["sizes=1&sizes=2", { sizes: [1, 2] }],
    ["nested=%7B%22a%22%3A1%7D", { nested: { a: 1 } }],
    ["own+name%26%3D=x", { "own name&=": "x" }],
    ["&&text=x&", { text: "x" }],
    ["size=123456789012345680000", { size: 123456789012345680000 }],
    ["", {}],
  ])("%s", async (query, expected) => {
    const { get } = serve([operation("find", { inputSchema: input })]);
    expect(await get(`/task/find?${query}`)).toMatchObject({ status: 200, body: expected });
  });

  test.each([
    ["text=a&text=b", "/text", "must not be repeated"],
    ["nested={}&nested={}", "/nested", "must not be repeated"],
    ["other=1", "/other", "is not a parameter of this operation"],
    ["__proto__=1", "/__proto__", "is not a parameter of this operation"],
    ["nested[__proto__][x]=1", "/nested[__proto__][x]", "is not a parameter of this operation"],
    ["count=9007199254740993", "/count", "is too large to be exact"],
    ["size=9007199254740993", "/size", "is too large to be exact"],
    ["size=1e999", "/size", "is too large to be exact"],
    ["either=9007199254740993", "/either", "is too large to be exact"],
    ["nested=x", "/nested", "must be valid JSON"],
    [`nested=${"[".repeat(300)}${"]".repeat(300)}`, "/nested", "must not be nested more than 200 levels deep"],
    ["count=x", "/count", "must be an integer"],
    ["count=", "/count", "must be an integer"],
    ["count=0x10", "/count", "must be an integer"],
    ["isDone=1", "/isDone", "must be a boolean"],
    ["text=%ff", "", "the query must be percent-encoded UTF-8"],
  ])("%s is refused", async (query, path, message) => {
    const { get } = serve([operation("find", { inputSchema: input })]);
    const { status, body } = await get(`/task/find?${query}`);
    expect([status, body.code, body.details.errors]).toEqual([400, "VALIDATION_ERROR", [{ path, message }]]);
  });

  test("a property called __proto__ is data", async () => {
    const inputSchema = { type: "object", properties: JSON.parse('{"__proto__":{"type":"string"}}') };
    const keys = operation("keys", {
      inputSchema: inputSchema as never,
      handler: (value) => Object.keys(value as object),
    });
    const { get } = serve([keys]);
    expect((await get("/task/keys?__proto__=x")).body).toEqual(["__proto__"]);
  });

  test.each([
    ["word=null&words=null", { word: null, words: null }],
    ["word=%22x%22&words=[%22y%22]", { word: "x", words: ["y"] }],
  ])("nullable of OpenAPI 3.0 is a type: %s", async (query, expected) => {
    const word = { type: "string", nullable: true };
    const words = { type: "array", items: { type: "string" }, nullable: true };
    const { get } = serve([operation("find", { inputSchema: { type: "object", properties: { word, words } } })]);
    expect(await get(`/task/find?${query}`)).toMatchObject({ status: 200, body: expected });
  });

  test.each([
    ["is nullable", { type: "object", properties: { a: { type: "string" } }, nullable: true }, null],
    ["has a property without a name", { type: "object", properties: { "": { type: "string" } } }, { "": "x" }],
  ])("an input that %s is sent with POST only", async (_reason, inputSchema, body) => {
    const { get, post } = serve([operation("find", { inputSchema })]);
    expect((await get("/task/find")).status).toBe(405);
    expect(await read(await post("/task/find", body))).toMatchObject({ status: 200, body });
    expect(Object.keys((await get("/openapi.json")).body.paths["/task/find"])).toEqual(["post"]);
  });

  test("a required list is empty where the schema allows it", async () => {
    const lists = operation("lists", { inputSchema: Type.Object({ a: Type.Array(Type.String()) }) });
    const some = operation("some", { inputSchema: Type.Object({ a: Type.Array(Type.String(), { minItems: 1 }) }) });
    const { get } = serve([lists, some]);
    expect((await get("/task/lists")).body).toEqual({ a: [] });
    expect((await get("/task/some")).status).toBe(400);
  });

  test.each([
    ["a string", Type.String()],
    ["anything", Type.Unknown()],
    ["a map", Type.Record(Type.String(), Type.Integer())],
    ["one of two objects", Type.Union([Type.Object({ a: Type.String() }), Type.Object({ b: Type.String() })])],
    ["an open object", Type.Object({}, { additionalProperties: true })],
  ])("an input that is %s is sent with POST only", async (_kind, inputSchema) => {
    const { send } = serve([operation("find", { inputSchema })]);
    const response = await send("/task/find");
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
  });

  test("a URL that is too long is 414", async () => {
    const { get } = serve([operation("find", { inputSchema: input })], { limits: { urlLength: 100 } });
    expect(await get(`/task/find?text=${"x".repeat(100)}`)).toMatchObject({
      status: 414,
      body: { code: "VALIDATION_ERROR" },
    });
  });
});

describe("bodies", () => {
  const add = operation("add", { type: "mutation", inputSchema: Type.Unknown() });
  const withBody = (body: BodyInit, headers: Record<string, string> = { "content-type": "application/json" }) => ({
    method: "POST",
    body,
    headers,
    duplex: "half" as const,
  });

  /** A body of unknown length. */
  function chunked(...chunks: string[]): ReadableStream {
    return new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
        controller.close();
      },
    });
  }

  test.each([
    ["application/json"],
    ["Application/JSON"],
    ["application/json; charset=utf-8"],
    ['application/json;charset="UTF-8"'],
    ["application/json "],
    ["application/json;"],
  ])("are accepted as %s", async (type) => {
    const { send } = serve([add]);
    expect(await read(await send("/task/add", withBody("[1]", { "content-type": type })))).toMatchObject({ body: [1] });
  });

  test.each([
    ["text/plain"],
    ["application/x-www-form-urlencoded"],
    ["multipart/form-data; boundary=x"],
    ["application/jsonx"],
    ["application/json; charset=utf-16"],
    ["application/json, text/plain"],
    ["text/plain; application/json"],
    ["application/vnd.api+json"],
    [""],
  ])("are refused with 415 as %j", async (type) => {
    const { send } = serve([add]);
    expect((await send("/task/add", withBody("[1]", { "content-type": type }))).status).toBe(415);
  });

  test("that are compressed are refused with 415", async () => {
    const { send } = serve([add]);
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    expect((await send("/task/add", withBody("[1]", headers))).status).toBe(415);
  });

  test.each([
    ["a length", { "content-type": "application/json", "content-length": "4" }],
    ["chunks", { "content-type": "application/json" }],
  ])(
    "that are not UTF-8 are refused with 415, because replaced characters would be another input: %s",
    async (_kind, headers) => {
      const { send } = serve([add]);
      const body = new Uint8Array([0x22, 0xc3, 0x28, 0x22]);
      expect((await send("/task/add", { method: "POST", body, headers })).status).toBe(415);
    },
  );

  test("that are missing are undefined", async () => {
    const { send } = serve([operation("add", { ...add, handler: (value) => typeof value })]);
    // A host may have a stream for a request that has neither a type nor a length.
    expect((await read(await send("/task/add", { ...withBody(chunked()), headers: {} }))).body).toBe("undefined");
    expect((await read(await send("/task/add", { method: "POST" }))).body).toBe("undefined");
    expect((await read(await send("/task/add", { method: "POST", headers: { "content-length": "0" } }))).body).toBe(
      "undefined",
    );
  });

  test.each([
    ["a length", withBody(`"${"x".repeat(100)}"`, { "content-type": "application/json", "content-length": "102" })],
    ["chunks", withBody(chunked('"', "x".repeat(100), '"'))],
    ["a false length", withBody(`"${"x".repeat(100)}"`, { "content-type": "application/json", "content-length": "2" })],
  ])("that are too large are refused with 413: %s", async (_kind, init) => {
    const { send } = serve([add], { limits: { requestBytes: 50 } });
    expect(await read(await send("/task/add", init))).toMatchObject({
      status: 413,
      body: { code: "PAYLOAD_TOO_LARGE", details: { limit: "requestBytes", allowed: 50 }, mayHaveRun: false },
    });
  });

  test("a caller without the scopes is refused before the body is read", async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error("The body was read.")) });
    const closed = { ...add, accessControl: { requiredScopes: ["write"] } };
    const { send } = serve([operation("add", closed)], { authenticate: () => ({ id: "ada", scopes: [] }) });
    const response = await send("/task/add", withBody(body));
    expect([response.status, (await response.json()).code]).toEqual([403, "ACCESS_DENIED"]);
  });

  test("may have 1 MiB", async () => {
    const { send } = serve([add]);
    const ofSize = (bytes: number) => withBody(`"${"x".repeat(bytes - 2)}"`);
    expect((await send("/task/add", ofSize(1024 * 1024))).status).toBe(200);
    expect((await send("/task/add", ofSize(1024 * 1024 + 1))).status).toBe(413);
  });

  test("in chunks are read", async () => {
    const { send } = serve([add]);
    expect((await read(await send("/task/add", withBody(chunked("[1,", "2]"))))).body).toEqual([1, 2]);
  });

  test.each([
    ["{", "must be valid JSON"],
    ["NaN", "must be valid JSON"],
    [`${"[".repeat(300)}${"]".repeat(300)}`, "must not be nested more than 200 levels deep"],
  ])("that are malformed are refused with 400: %s", async (body, message) => {
    const { send } = serve([add]);
    expect(await read(await send("/task/add", withBody(body)))).toMatchObject({
      status: 400,
      body: { code: "VALIDATION_ERROR", details: { errors: [{ path: "", message }] } },
    });
  });

  test("never change prototypes", async () => {
    const { send } = serve([operation("add", { ...add, handler: (value) => Object.keys(value as object) })]);
    const body = '{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}';
    expect((await read(await send("/task/add", withBody(body)))).body).toEqual(["__proto__", "constructor"]);
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });

  test("do not have parameters beside them", async () => {
    const { send } = serve([add]);
    expect((await send("/task/add?x=1", withBody("[1]"))).status).toBe(400);
  });

  test("that the host has read are an error that names the solution", async () => {
    const { server } = serve([add]);
    const request = new Request("http://localhost/task/add", withBody("[1]"));
    await request.text();
    const detail =
      "The body was read before the request reached the server. Mount it before middleware that reads bodies.";
    expect(await read(await server.fetch(request))).toMatchObject({ status: 500, body: { detail, mayHaveRun: false } });
  });

  test("of a client that disconnects are not run", async () => {
    const broken = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode("[1"));
        controller.error(new Error("reset"));
      },
    });
    const { send } = serve([add]);
    expect(await read(await send("/task/add", withBody(broken)))).toMatchObject({
      status: 499,
      body: { code: "ABORTED", mayHaveRun: false },
    });
  });
});

describe("headers", () => {
  const shown = operation("shown", {
    handler: (_input, { metadata, remote, deadline }) => ({ metadata, remote, left: (deadline ?? 0) - Date.now() }),
  });

  test("the trace context reaches the handler as its only metadata", async () => {
    const { get } = serve([shown]);
    const headers = {
      "operation-metadata": '{"job":1}',
      traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      tracestate: "a=b",
      baggage: "c=d",
    };
    const { traceparent, tracestate, baggage } = headers;
    expect((await get("/task/shown", headers)).body).toMatchObject({
      metadata: { traceparent, tracestate, baggage },
      remote: true,
    });
    expect((await get("/task/shown")).body).toMatchObject({ metadata: {} });
  });

  test("the caller may choose the id of its request", async () => {
    const named = operation("named", { handler: (_input, { requestId }) => requestId });
    const { get } = serve([named]);
    expect((await get("/task/named", { "request-id": "page:1.a-b" })).body).toBe("page:1.a-b");
    for (const invalid of ["", "a b", "x".repeat(129), "ü"]) {
      expect(
        (await get("/task/named", { "request-id": encodeURI(invalid) === invalid ? invalid : "a/b" })).body,
      ).toMatch(/^[\da-f-]{36}$/);
    }
  });

  test("Prefer: wait sets the deadline, up to the maximum", async () => {
    const { get } = serve([shown], { maxTimeout: 60_000 });
    const left = async (prefer: string) => Math.round((await get("/task/shown", { prefer })).body.left / 1_000);
    expect(await left("wait=5")).toBe(5);
    expect(await left("respond-async, wait=7")).toBe(7);
    expect(await left("wait=999")).toBe(60);
    expect(await left("wait=soon")).toBe(30);
    expect(await get("/task/shown", { prefer: "wait=0" })).toMatchObject({
      status: 504,
      body: { code: "TIMEOUT", mayHaveRun: false },
    });
  });
});
