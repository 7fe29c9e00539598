import { describe, expect, test } from "vitest";
import { CallError, defineOperation, type IOperationDefinition, Type } from "../../index.ts";
import { operation, read, serve } from "./testing.ts";

const create = defineOperation({
  namespace: "task",
  name: "create",
  type: "mutation",
  inputSchema: Type.Object({ title: Type.String(), priority: Type.Integer({ default: 3 }) }),
  outputSchema: Type.Object({ id: Type.String(), title: Type.String(), priority: Type.Integer() }),
  errors: {
    TITLE_TAKEN: Type.Object({ title: Type.String() }),
    TEAPOT: { schema: Type.Object({}), httpStatus: 418 },
    FORGED: { schema: Type.Object({}), httpStatus: 401 },
  },
  handler: async ({ title, priority }, { errors }) => {
    if (title === "taken") throw errors.TITLE_TAKEN({ title }, "There is a task with this title.");
    if (title === "teapot") throw errors.TEAPOT({});
    if (title === "forged") throw errors.FORGED({});
    return { id: "1", title, priority };
  },
});

const find = defineOperation({
  namespace: "task",
  name: "find",
  type: "query",
  inputSchema: Type.Object({
    text: Type.Optional(Type.String()),
    limit: Type.Optional(Type.Integer()),
    done: Type.Optional(Type.Boolean()),
    tags: Type.Array(Type.String()),
    order: Type.Optional(Type.Object({ by: Type.String() })),
  }),
  outputSchema: Type.Unknown(),
  handler: (input) => input,
});

const secret = defineOperation({
  namespace: "task",
  name: "secret",
  type: "query",
  inputSchema: Type.Object({}),
  outputSchema: Type.String(),
  accessControl: { requiredScopes: ["admin"] },
  handler: () => "hidden",
});

const boom = defineOperation({
  namespace: "task",
  name: "boom",
  type: "query",
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
  handler: () => {
    throw new Error("password is 1234");
  },
});

/** A server of the operations above. */
function setUp(operations: readonly IOperationDefinition[] = [create, find, secret, boom], options = {}) {
  return serve(operations, options);
}

describe("calls", () => {
  test("POST runs a mutation with a JSON body, and fills defaults", async () => {
    const { post } = setUp();
    const response = await post("/task/create", { title: "Ship it" });

    expect(Object.fromEntries(response.headers)).toEqual({
      "cache-control": "no-store",
      "content-security-policy": "sandbox",
      "content-type": "application/json",
      "operation-id": "task.create",
      "request-id": expect.stringMatching(/^[\w-]{20,}$/),
      "x-content-type-options": "nosniff",
    });
    expect(await read(response)).toMatchObject({ status: 200, body: { id: "1", title: "Ship it", priority: 3 } });
  });

  test("GET runs a query with a parameter per property", async () => {
    const { send } = setUp();
    const path = `/task/find?text=a+b%26c&limit=5&done=true&tags=x&tags=y&order=${encodeURIComponent('{"by":"name"}')}`;

    expect(await read(await send(path))).toEqual({
      status: 200,
      type: "application/json",
      body: { text: "a b&c", limit: 5, done: true, tags: ["x", "y"], order: { by: "name" } },
    });
  });

  test("a missing required list is empty", async () => {
    const { send } = setUp();
    expect((await read(await send("/task/find"))).body).toEqual({ tags: [] });
  });

  test("the whole envelope on request", async () => {
    const { post } = setUp();
    const accept = "application/vnd.alkdev.envelope+json";
    expect(await read(await post("/task/create", { title: "x" }, { accept }))).toEqual({
      status: 200,
      type: accept,
      body: {
        data: { id: "1", title: "x", priority: 3 },
        meta: { source: "local", operationId: "task.create", timestamp: expect.any(Number) },
      },
    });
    const inCapitals = await post("/task/create", { title: "x" }, { accept: accept.toUpperCase() });
    expect(inCapitals.headers.get("content-type")).toBe(accept);
  });
});

describe("errors", () => {
  test("a declared error is 422 with problem details", async () => {
    const { post } = setUp();
    expect(await read(await post("/task/create", { title: "taken" }))).toEqual({
      status: 422,
      type: "application/problem+json",
      body: {
        title: "Unprocessable Content",
        status: 422,
        detail: "There is a task with this title.",
        code: "TITLE_TAKEN",
        details: { title: "taken" },
        retryable: false,
        mayHaveRun: true,
        requestId: expect.any(String),
      },
    });
  });

  test("a declared error has its own status, unless that status belongs to this server", async () => {
    const { post } = setUp();
    expect((await post("/task/create", { title: "teapot" })).status).toBe(418);
    expect((await post("/task/create", { title: "forged" })).status).toBe(422);
  });

  test("the message of an unexpected error does not leave", async () => {
    const { send } = setUp();
    const { status, body } = await read(await send("/task/boom"));

    expect({ status, body }).toEqual({
      status: 500,
      body: {
        title: "Internal Server Error",
        status: 500,
        detail: `The operation failed. Request id: ${body.requestId}.`,
        code: "EXECUTION_ERROR",
        retryable: false,
        mayHaveRun: true,
        requestId: expect.any(String),
      },
    });
  });

  test("exposeErrors sends the message of an unexpected error", async () => {
    const { send } = setUp(undefined, { exposeErrors: true });
    expect((await read(await send("/task/boom"))).body.detail).toBe("password is 1234");
  });

  test("access is denied with 401 and a challenge to a caller without an identity, with 403 to others", async () => {
    const { send } = setUp();
    const anonymous = await send("/task/secret");
    expect([anonymous.status, anonymous.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);

    const known = setUp(undefined, { authenticate: () => ({ id: "ada", scopes: [] }) });
    expect((await known.send("/task/secret")).status).toBe(403);
  });

  test.each([
    ["a parameter", "/task/secret?unknown=1", {}],
    ["a body", "/task/secret", { method: "POST", headers: { "content-type": "application/json" }, body: "{" }],
    ["a media type", "/task/secret", { method: "POST", headers: { "content-type": "text/plain" }, body: "{}" }],
  ])("a caller without the scopes does not learn whether %s is valid", async (_name, path, init) => {
    const { send } = setUp();
    expect(await read(await send(path, init))).toMatchObject({ status: 401, body: { code: "ACCESS_DENIED" } });
  });

  test.each(["__proto__", "constructor", "toString", "hasOwnProperty", "a/b/c"])("%s is not found", async (name) => {
    const { send } = setUp();
    expect(await read(await send(`/task/${name}`))).toMatchObject({
      status: 404,
      body: { code: "OPERATION_NOT_FOUND" },
    });
    expect((await send(`/${name}`)).status).toBe(404);
  });

  test("the root refers to the document", async () => {
    const { send } = setUp();
    expect(await read(await send("/"))).toMatchObject({
      status: 404,
      body: {
        code: "OPERATION_NOT_FOUND",
        detail: "The root is not an operation. GET /openapi.json describes the operations that you may call.",
      },
    });
  });

  test("suggestions contain visible operations only", async () => {
    const { send } = setUp();
    expect((await read(await send("/task/secre"))).body.detail).toBe('No operation "task.secre".');
    expect((await read(await send("/task/creat"))).body.detail).toContain('Did you mean "task.create"?');
  });

  test("a CallError keeps its message", async () => {
    const full = defineOperation({
      ...boom,
      handler: () => {
        throw new CallError("EXECUTION_ERROR", "The disk is full.");
      },
    });
    const { send } = setUp([full]);
    expect((await read(await send("/task/boom"))).body.detail).toBe("The disk is full.");
  });
});

describe("methods", () => {
  test.each([
    ["GET", "/task/create", 405, "POST, OPTIONS"],
    ["HEAD", "/task/create", 405, "POST, OPTIONS"],
    ["DELETE", "/task/create", 405, "POST, OPTIONS"],
    ["OPTIONS", "/task/create", 204, "POST, OPTIONS"],
    ["DELETE", "/task/find", 405, "GET, HEAD, POST, OPTIONS"],
    ["OPTIONS", "/task/find", 204, "GET, HEAD, POST, OPTIONS"],
    ["HEAD", "/task/changes", 405, "GET, POST, OPTIONS"],
  ])("%s %s is %i", async (method, path, status, allow) => {
    const { send } = setUp([create, find, operation("changes", { type: "subscription" })]);
    const response = await send(path, { method });
    expect([response.status, response.headers.get("allow")]).toEqual([status, allow]);
  });

  test("HEAD runs a query and sends no body", async () => {
    const { send } = setUp();
    const response = await send("/task/find", { method: "HEAD" });
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });
});
