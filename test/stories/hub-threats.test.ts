import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type OutgoingHttpHeaders, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { createRegistry, defineOperation, type OperationRegistry, Type } from "@alkdev/operations";
import { createToken } from "@alkdev/operations/auth";
import { connect } from "@alkdev/operations/client";
import { createHub, type Hub, type HubConfig } from "@alkdev/operations/hub";
import { listen } from "@alkdev/operations/node";
import { serveMCP } from "@alkdev/operations/serve-mcp";
import { afterAll, beforeAll, expect, test, vi } from "vitest";

const schemas = { inputSchema: Type.Object({}), outputSchema: Type.String() };
const tool = (name: string) =>
  defineOperation({ namespace: "disk", name, type: "mutation", ...schemas, handler: () => `${name} was called` });

/** A module with an operation. */
const toModule = (name: string, handler: string) => `
  export default {
    namespace: "tasks", name: "${name}", version: "1.0.0", type: "mutation", description: "", handler: ${handler},
    inputSchema: { type: "object" }, outputSchema: {}, accessControl: { requiredScopes: [] },
  };`;

const [ada, bob, guest, root] = ["ada", "bob", "guest", "root"].map((id) => ({ id, ...createToken() }));
const scopes: Record<string, string[]> = {
  ada: ["tasks", "files", "hub:read"],
  bob: ["tasks", "hub:read"],
  guest: [],
  root: ["hub:admin"],
};

let folder: string;
let hub: Hub;
const open: Array<{ close(): Promise<unknown> }> = [];

async function start(config: HubConfig): Promise<Hub> {
  const serve = { port: 0, ...config.serve };
  const started = await createHub({ ...config, serve }, { folder, environment: { XDG_STATE_HOME: folder } });
  open.push(started);
  return started;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "hub-threats-"));
  await mkdir(join(folder, "operations"));
  await writeFile(join(folder, "operations", "create.mjs"), toModule("create", '() => "created"'));
  await writeFile(join(folder, "operations", "clean.mjs"), toModule("clean", "({ id }, { call }) => call(id, {})"));
  const registry: OperationRegistry = createRegistry({ operations: [tool("read"), tool("delete")] }) as never;
  const server = await listen({ "/mcp": serveMCP(registry, { authenticate: "none", mode: "tools" }) });
  open.push(server);
  hub = await start({
    sources: {
      tasks: { modules: "./operations" },
      files: {
        mcp: { url: `${server.url}/mcp` },
        rename: { "files.disk_delete": "tidy", "files.disk_read": "show" },
      },
    },
    access: {
      tokens: [ada, bob, guest, root].map((caller) => ({
        hash: caller!.hash,
        identity: { id: caller!.id, scopes: scopes[caller!.id]! },
      })),
    },
    rules: [
      { match: "files.*delete*", deny: true },
      { match: "files.*read", requiredScopes: ["files:read"] },
    ],
  });
});
afterAll(async () => {
  for (const one of open.reverse()) await one.close();
  await rm(folder, { recursive: true, force: true });
});

/** Posts to the hub and returns status and body. */
async function post(path: string, token?: string, input: object = {}, at = hub): Promise<[number, unknown]> {
  const response = await fetch(`${at.url}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      connection: "close",
      ...(token && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(input),
  });
  return [response.status, await response.json()];
}

test("a renamed tool does not bypass the rules, over any server", async () => {
  expect(hub.sources().map(({ name, status }) => [name, status])).toEqual([
    ["tasks", "ready"],
    ["files", "ready"],
  ]);
  const ids = hub.registry.getAllSpecs().map(({ namespace, name }) => `${namespace}.${name}`);
  expect(ids.filter((id) => id.startsWith("files."))).toEqual(["files.show"]);
  for (const name of ["tidy", "disk_delete"]) {
    expect(await post(`/files/${name}`, ada!.token)).toEqual([404, expect.objectContaining({ status: 404 })]);
  }
  expect(await post("/files/show", ada!.token)).toEqual([403, expect.objectContaining({ code: "ACCESS_DENIED" })]);
  const client = connect(`${hub.url!.replace("http", "ws")}/calls`, { token: ada!.token });
  await expect(client["files"]!["tidy"]!({})).rejects.toMatchObject({ code: "OPERATION_NOT_FOUND" });
  await client.close();
});

test("a nested call does not bypass a rule with deny", async () => {
  for (const id of ["files.tidy", "files.disk_delete"]) {
    await expect(
      hub.registry.execute("tasks.clean", { id }, { identity: { id: "ada", scopes: ["tasks", "files"] } }),
    ).rejects.toMatchObject({ details: { nested: { operationId: id, code: "OPERATION_NOT_FOUND" } } });
  }
});

test("callers without a token or without the scope of the source are refused, and see nothing of it", async () => {
  const denied = expect.objectContaining({ code: "ACCESS_DENIED" });
  expect(await post("/tasks/create")).toEqual([401, denied]);
  expect((await post("/tasks/create", createToken().token))[0]).toBe(401);
  expect(await post("/tasks/create", guest!.token)).toEqual([403, denied]);
  expect(await post("/hub/history", guest!.token)).toEqual([403, denied]);
  expect(await post("/hub/reload", ada!.token)).toEqual([403, denied]);
  const document = await fetch(`${hub.url}/openapi.json`, { headers: { authorization: `Bearer ${guest!.token}` } });
  expect(Object.keys(((await document.json()) as { paths: object }).paths)).toEqual([
    "/hub/operations",
    "/hub/status",
    "/hub/check",
  ]);
  const [, found] = await post("/hub/operations", guest!.token, { brief: true });
  const names = (found as { operations: { name: string }[] }).operations.map(({ name }) => name);
  expect(names).toEqual(["operations", "status", "check"]);
});

test("without a token nothing is answered, also to a web page that made its name resolve to this machine", async () => {
  const upgrade = { connection: "upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
  const attempts: Array<[path: string, headers: OutgoingHttpHeaders]> = [
    ["/hub/operations", {}],
    ["/openapi.json", {}],
    ["/mcp", {}],
    ["/calls", { ...upgrade, "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" }],
  ];
  for (const [path, headers] of attempts) {
    for (const host of ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "localhost"]) {
      if (path === "/calls" && host === "localhost") continue; // The token may be in the first frame.
      expect([path, host, await statusOf(path, { ...headers, host })]).toEqual([path, host, 401]);
    }
  }
  const authorization = `Bearer ${ada!.token}`;
  expect(await statusOf("/hub/operations", { host: "hub.example", authorization })).toBe(200); // A proxy.
});

/** Sends a GET request to the hub, and returns the status of the response. */
async function statusOf(path: string, headers: OutgoingHttpHeaders): Promise<number> {
  const sent = request(`${hub.url}${path}`, { headers, agent: false }).end();
  const status = await new Promise<number>((resolve, reject) => {
    sent.on("error", reject).on("response", ({ statusCode }) => resolve(statusCode!));
    sent.on("upgrade", (response, socket) => {
      socket.destroy();
      resolve(response.statusCode!);
    });
  });
  sent.destroy();
  return status;
}

test("a token sees its own calls only", async () => {
  const history = async (token: string, input = {}) => {
    const [, found] = await post("/hub/history", token, { operationId: "tasks.create", ...input });
    const { calls } = found as { calls: { identity?: string; requestId: string }[] };
    return calls.map(({ identity, requestId }) => [identity, requestId]);
  };
  const call = async (token: string) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
    const response = await fetch(`${hub.url}/tasks/create`, { method: "POST", headers, body: "{}" });
    return response.headers.get("request-id")!;
  };
  const ids = { ada: await call(ada!.token), bob: await call(bob!.token) };
  const own = { ada: ["ada", ids.ada], bob: ["bob", ids.bob] };
  expect(await history(ada!.token)).toEqual([own.ada]);
  expect(await history(ada!.token, { identity: "bob" })).toEqual([]);
  expect(await history(bob!.token)).toEqual([own.bob]);
  expect((await history(root!.token)).slice(0, 2)).toEqual([own.bob, own.ada]);
  expect((await post("/hub/call", bob!.token, { requestId: ids.ada }))[0]).toBe(422);
  expect((await post("/hub/call", ada!.token, { requestId: ids.ada }))[0]).toBe(200);
  const [, stats] = await post("/hub/stats", bob!.token);
  expect(stats).toMatchObject({ calls: 1, groups: [{ key: "tasks.create", calls: 1 }] });
});

test("secrets of the configuration and the created token appear in no output", async () => {
  const canary = "canary-4f9a1c77e2";
  const printed: unknown[] = [];
  const spies = (["log", "warn", "error", "info", "debug"] as const).map((name) =>
    vi.spyOn(console, name).mockImplementation((...args) => void printed.push(...args)),
  );
  try {
    const failing = `console.error("key " + process.env.API_KEY); process.exit(1)`;
    const secret = await start({
      sources: {
        tasks: { modules: "./operations" },
        api: { openapi: "http://127.0.0.1:1/openapi.json", auth: { type: "bearer", token: canary } },
        tools: { mcp: { command: process.execPath, args: ["-e", failing], env: { API_KEY: canary } } },
        remote: { mcp: { url: "http://127.0.0.1:1/mcp", headers: { "x-api-key": canary } } },
      },
      history: { file: "./calls.db", payloads: ["*"] },
    });
    const token = secret.token!;
    const input = { apiKey: canary, nested: { password: canary } };
    const results = [
      await post("/tasks/create", token, input, secret),
      await post("/hub/sources", token, {}, secret),
      await post("/hub/history", token, {}, secret),
      await post("/hub/operations", token, {}, secret),
      await post("/hub/reload", token, {}, secret),
      await (await fetch(`${secret.url}/openapi.json`, { headers: { authorization: `Bearer ${token}` } })).json(),
    ];
    expect(results[0]).toEqual([200, "created"]);
    expect(results[2]).toMatchObject([
      200,
      { calls: [{ operationId: "tasks.create", input: { apiKey: "[redacted]", nested: { password: "[redacted]" } } }] },
    ]);
    await secret.close();
    const file = await readFile(join(folder, "calls.db"), "latin1");
    const all = [JSON.stringify(results), inspect(printed), inspect(secret, { depth: 9, showHidden: true }), file];
    expect(printed).not.toEqual([]);
    for (const output of all) {
      expect(output).not.toContain(canary);
      expect(output).not.toContain(token);
    }
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
});
