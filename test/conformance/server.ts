import { afterEach, describe, expect, test } from "vitest";
import { CallError, createRegistry, defineOperation, type OperationRegistry, Type } from "../../src/index.ts";
import { deferred } from "../../src/internal/testing.ts";
import type { FetchServer, IdentifyCaller } from "../../src/serve/http/index.ts";

/** The outcome of a call, read from a response: `data`, or the `code` of an error. */
export interface ServedResult {
  data?: unknown;
  code?: string;
  details?: unknown;
}

/** A server, and how its clients call it. */
export interface ServerHarness {
  server: FetchServer;
  /** Creates the request that calls an operation with a JSON input. */
  toRequest(operationId: string, json: string, init: RequestInit & { headers: Record<string, string> }): Request;
  /** Reads the response to a call. */
  read(response: Response): Promise<ServedResult>;
}

/** Creates a server that identifies its callers with this function. */
export type CreateServer = (registry: OperationRegistry, authenticate: IdentifyCaller) => ServerHarness;

const identities = new Map([
  ["token-of-ada", { id: "ada", scopes: ["admin"] }],
  ["token-of-eve", { id: "eve", scopes: [] }],
  ["expired-token", { id: "ada", scopes: ["admin"], expiresAt: 1_000 }],
]);

const authenticate: IdentifyCaller = ({ token }) => {
  if (token === undefined) return undefined;
  const identity = identities.get(token);
  if (identity === undefined) throw new Error("unknown token");
  return identity;
};

/** Operations whose effects a test observes. */
function createOperations() {
  const runs: string[] = [];
  const started = deferred();
  const finish = deferred();
  const aborted = deferred();
  const task = {
    namespace: "task",
    type: "mutation" as const,
    inputSchema: Type.Unknown(),
    outputSchema: Type.Unknown(),
  };
  const operations = [
    defineOperation({
      ...task,
      name: "echo",
      handler: async (input, { identity }) => {
        runs.push("echo");
        return { input, caller: identity?.id };
      },
    }),
    defineOperation({
      ...task,
      name: "delete",
      accessControl: { requiredScopes: ["admin"] },
      handler: () => runs.push("delete"),
    }),
    defineOperation({
      ...task,
      name: "fail",
      handler: () => {
        throw new CallError("TITLE_TAKEN", "There is a task with this title.", { title: "x" });
      },
    }),
    defineOperation({
      ...task,
      name: "crash",
      handler: () => {
        throw new Error("the password is 1234");
      },
    }),
    defineOperation({
      ...task,
      name: "wait",
      handler: async (_input, { signal }) => {
        signal.addEventListener("abort", () => aborted.resolve());
        started.resolve();
        await finish.promise;
        return "finished";
      },
    }),
  ];
  return { operations, runs, started, finish, aborted };
}

/** The rules that every server keeps, whatever its protocol is. */
export function describeServer(name: string, create: CreateServer): void {
  const open: FetchServer[] = [];
  afterEach(async () => {
    for (const server of open.splice(0)) await server.close({ timeout: 0 });
  });

  function setUp() {
    const { operations, ...observed } = createOperations();
    const registry: OperationRegistry = createRegistry({ operations });
    const harness = create(registry, authenticate);
    open.push(harness.server);
    const { server, toRequest, read } = harness;
    const send = async (operationId: string, input: unknown, init: RequestInit = {}, token = "token-of-eve") => {
      const json = typeof input === "string" ? input : JSON.stringify(input);
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", ...init.headers };
      return server.fetch(toRequest(operationId, json, { ...init, headers } as never));
    };
    const call = async (operationId: string, input: unknown = {}, token?: string) =>
      read(await send(operationId, input, {}, token));
    return { registry, server, send, call, read, ...observed };
  }

  describe(name, () => {
    test("runs a call with the identity of its caller and returns its data", async () => {
      const { call } = setUp();
      const input = { text: "ä\u2028", list: [1, null, { deep: true }] };
      expect(await call("task.echo", input)).toEqual({ data: { input, caller: "eve" } });
    });

    test("keeps concurrent calls of several callers apart", async () => {
      const { call } = setUp();
      const calls = Array.from({ length: 200 }, (_, nonce) => ({ nonce, caller: nonce % 2 === 0 ? "ada" : "eve" }));
      const results = await Promise.all(
        calls.map(({ nonce, caller }) => call("task.echo", { nonce }, `token-of-${caller}`)),
      );
      expect(results).toEqual(calls.map(({ nonce, caller }) => ({ data: { input: { nonce }, caller } })));
    });

    test("runs an operation only for callers with its scopes, whatever the input claims", async () => {
      const { call, runs } = setUp();
      const claim = { identity: { id: "ada", scopes: ["admin"] }, trusted: true };
      expect(await call("task.delete", claim)).toMatchObject({ code: "ACCESS_DENIED" });
      expect(runs).toEqual([]);
      expect(await call("task.delete", {}, "token-of-ada")).toEqual({ data: 1 });
    });

    test.each(["token-of-mallory", "expired-token"])(
      "refuses invalid credentials with 401 and a challenge, and runs nothing: %s",
      async (token) => {
        const { send, runs } = setUp();
        const response = await send("task.echo", {}, {}, token);
        expect([response.status, response.headers.has("www-authenticate"), runs]).toEqual([401, true, []]);
      },
    );

    test("reports an error with its code and details", async () => {
      const { call } = setUp();
      expect(await call("task.fail")).toEqual({ code: "TITLE_TAKEN", details: { title: "x" } });
    });

    test("does not send the message or the stack of an unexpected error", async () => {
      const { send } = setUp();
      const response = await send("task.crash", {});
      const text = await response.text();
      expect(text).not.toContain("1234");
      expect(text).not.toContain("conformance");
    });

    test.each(["__proto__", "constructor", "toString", "hasOwnProperty", "task.__proto__", "task.constructor"])(
      "does not find the operation %s",
      async (id) => {
        const { call, runs } = setUp();
        expect(await call(id)).toMatchObject({ code: "OPERATION_NOT_FOUND" });
        expect(runs).toEqual([]);
      },
    );

    test("treats __proto__ in the input as data", async () => {
      const { send, read } = setUp();
      const { data } = await read(await send("task.echo", '{"__proto__":{"isAdmin":true}}'));
      expect(JSON.stringify(data)).toBe('{"input":{"__proto__":{"isAdmin":true}},"caller":"eve"}');
      expect(({} as Record<string, unknown>)["isAdmin"]).toBeUndefined();
    });

    test("follows the registry", async () => {
      const { registry, call } = setUp();
      registry.unregister("task.echo");
      expect(await call("task.echo")).toMatchObject({ code: "OPERATION_NOT_FOUND" });
    });

    test.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])(
      "refuses a body of type %s with 415",
      async (type) => {
        const { send, runs } = setUp();
        expect((await send("task.echo", {}, { headers: { "content-type": type } })).status).toBe(415);
        expect(runs).toEqual([]);
      },
    );

    test.each<Record<string, string>>([
      { origin: "https://evil.example" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ])("refuses a request of a foreign page with 403: %j", async (headers) => {
      const { send, runs } = setUp();
      expect((await send("task.echo", {}, { headers })).status).toBe(403);
      expect(runs).toEqual([]);
    });

    test.each(["{", "", "[1]", '"x"', "null", `{"a":${"[".repeat(5_000)}`])(
      "responds to a malformed body without an error of its own: %.20s",
      async (json) => {
        const { send } = setUp();
        expect((await send("task.fail", json)).status).toBeLessThan(500);
      },
    );

    test("runs nothing for a client that vanishes in the middle of its request", async () => {
      const { server, runs } = setUp();
      const harness = create(createRegistry({ operations: [] }), authenticate);
      open.push(harness.server);
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('{"a":'));
          controller.error(new Error("reset"));
        },
      });
      const headers = { authorization: "Bearer token-of-eve", "content-type": "application/json" };
      const request = harness.toRequest("task.echo", "{}", { headers });
      const broken = new Request(request.url, { method: "POST", headers, body, duplex: "half" } as RequestInit);
      expect((await server.fetch(broken)).status).toBeGreaterThanOrEqual(200);
      expect(runs).toEqual([]);
    });

    test("runs nothing for a client that vanishes before it is identified", async () => {
      const { operations, runs } = createOperations();
      const checked = deferred();
      const harness = create(createRegistry({ operations }), async (credentials) => {
        await checked.promise;
        return authenticate(credentials);
      });
      open.push(harness.server);
      const client = new AbortController();
      const headers = { authorization: "Bearer token-of-eve", "content-type": "application/json" };
      const response = harness.server.fetch(harness.toRequest("task.echo", "{}", { headers, signal: client.signal }));
      client.abort();
      checked.resolve();
      expect(await response).toBeInstanceOf(Response);
      expect(runs).toEqual([]);
    });

    test("aborts the call of a client that disconnects, and still responds", async () => {
      const { send, started, aborted } = setUp();
      const client = new AbortController();
      const response = send("task.wait", {}, { signal: client.signal });
      await started.promise;
      client.abort();
      await aborted.promise;
      expect(await response).toBeInstanceOf(Response);
    });

    test("close() lets running calls finish and refuses further ones with 503", async () => {
      const { send, call, server, started, finish, runs } = setUp();
      const running = call("task.wait");
      await started.promise;
      const closed = server.close();
      expect((await send("task.echo", {})).status).toBe(503);
      finish.resolve();
      expect(await running).toEqual({ data: "finished" });
      await closed;
      await server[Symbol.asyncDispose]();
      expect(runs).toEqual([]);
    });

    test("close({ timeout: 0 }) aborts running calls", async () => {
      const { send, server, started, aborted } = setUp();
      const running = send("task.wait", {});
      await started.promise;
      await server.close({ timeout: 0 });
      await aborted.promise;
      expect(await running).toBeInstanceOf(Response);
    });

    test("its fetch can be passed on", async () => {
      const { server } = setUp();
      const { fetch } = server;
      expect(await fetch(new Request("http://localhost/"))).toBeInstanceOf(Response);
    });
  });
}
