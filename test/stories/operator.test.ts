import { afterEach, expect, test } from "vitest";
import {
  buildEnv,
  createEventTargetTransport,
  createRegistry,
  defineOperation,
  type Identity,
  type OperationRegistry,
  PendingRequestMap,
  peerSource,
  serveCalls,
} from "../../src/index.ts";
import { listen } from "../../src/node/index.ts";
import { createOperator, isOperator, parseOperationId } from "../../src/operation/inside.ts";
import { type FetchServer, serveHTTP } from "../../src/serve/http/index.ts";
import { serveMCP } from "../../src/serve/mcp/index.ts";
import { mcpMetaKey } from "../../src/transport/mcp-form.ts";
import { createWebSocketTransport, serveWebSocket } from "../../src/transport/websocket/index.ts";

const closing: Array<{ close(): unknown }> = [];
afterEach(async () => {
  for (const open of closing.splice(0).reverse()) await open.close();
});

const operator = createOperator();
const copy: Identity = JSON.parse(JSON.stringify(operator));

const secret = defineOperation({
  namespace: "task",
  name: "secret",
  type: "mutation",
  inputSchema: {},
  outputSchema: {},
  accessControl: { requiredScopes: ["write"], resourceType: "task", resourceAction: "edit" },
  handler: (_input, { identity }) => ({ id: identity?.id, scopes: identity?.scopes }),
});

const guarded = defineOperation({
  namespace: "task",
  name: "guarded",
  type: "mutation",
  inputSchema: {},
  outputSchema: {},
  accessControl: { requiredScopes: ["write"], customAuth: "never" },
  handler: () => "done",
});

const registryOf = () => createRegistry({ operations: [secret, guarded], customAuth: { never: () => false } });

/** The token "reference" is that of the operator; "copy" that of an identity which was read from JSON. */
const authenticate = ({ token }: { token?: string | undefined }) => (token === "reference" ? operator : copy);

const headersOf = (token: string) => ({ authorization: `Bearer ${token}`, "content-type": "application/json" });

async function callHTTP(server: FetchServer, id: string, token: string): Promise<unknown> {
  const { namespace, name } = parseOperationId(id)!;
  const init = { method: "POST", body: "{}", headers: headersOf(token) };
  const response = await server.fetch(new Request(`http://localhost/${namespace}/${name}`, init));
  const body = await response.json();
  return response.ok ? body : body.code;
}

async function callMCP(server: FetchServer, id: string, token: string): Promise<unknown> {
  const name = id.replace(".", "_");
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params = { name, arguments: {}, _meta: meta };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const protocol = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name };
  const headers = { ...protocol, ...headersOf(token), accept: "application/json, text/event-stream" };
  const response = await server.fetch(new Request("http://localhost/", { method: "POST", body, headers }));
  const { result, error } = await response.json();
  if (error !== undefined) return error;
  return result.isError === true ? result._meta[mcpMetaKey].error.code : result.structuredContent;
}

test("the operator may call everything over HTTP and MCP, and a copy of it nothing", async () => {
  const http = serveHTTP(registryOf(), { authenticate });
  const mcp = serveMCP(registryOf(), { authenticate });
  closing.push(http, mcp);
  const mine = { id: "operator", scopes: [] };

  expect(await callHTTP(http, "task.secret", "reference")).toEqual(mine);
  expect(await callHTTP(http, "task.secret", "copy")).toBe("ACCESS_DENIED");
  expect(await callMCP(mcp, "task.secret", "reference")).toEqual(mine);
  expect(await callMCP(mcp, "task.secret", "copy")).toBe("ACCESS_DENIED");
});

test("customAuth decides about the operator as about everyone", async () => {
  const http = serveHTTP(registryOf(), { authenticate });
  closing.push(http);

  expect(await callHTTP(http, "task.guarded", "reference")).toBe("ACCESS_DENIED");
});

test("the operator may call everything over a WebSocket, and a copy of it nothing", async () => {
  const calls = serveWebSocket(registryOf(), { authenticate });
  const listener = await listen({ "/calls": calls });
  closing.push(calls, listener);
  const open = async (token: string) => {
    const map = new PendingRequestMap(await createWebSocketTransport(`${listener.url}/calls`, { token }));
    closing.push(map);
    return map;
  };

  const { data } = await (await open("reference")).call("task.secret", {});
  expect(data).toEqual({ id: "operator", scopes: [] });
  const denied = (await open("copy")).call("task.secret", {});
  await expect(denied).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  const claimed = (await open("copy")).call("task.secret", {}, { identity: operator });
  await expect(claimed).rejects.toMatchObject({ code: "ACCESS_DENIED" });
});

test("at a peer, the operator has the rights that the announced rule requires and no others", async () => {
  const bus = new EventTarget();
  const worker = registryOf();
  const serving = await serveCalls(worker, createEventTargetTransport(bus), { trustedBus: true });
  const hub = createRegistry();
  const map = new PendingRequestMap(createEventTargetTransport(bus), { trustedBus: true });
  closing.push(serving, map);
  await hub.follow(peerSource(map));
  let seen: unknown;
  worker.on("call", ({ identity }) => {
    seen = identity;
  });

  const { data } = await hub.execute("task.secret", {}, { identity: operator });

  expect(data).toEqual({ id: "operator", scopes: ["write"] });
  expect(isOperator(seen)).toBe(false);
  expect(seen).toEqual({ id: "operator", scopes: ["write"], resources: { "task:*": ["edit"] } });
});

test("nested calls that are checked against the operator are allowed, and those of a copy denied", async () => {
  const outer = defineOperation({
    namespace: "task",
    name: "outer",
    type: "mutation",
    inputSchema: {},
    outputSchema: {},
    handler: (_input, context) => buildEnv({ registry, context, nested: "attenuate" })["task"]!["secret"]!({}),
  });
  const registry: OperationRegistry = createRegistry({ operations: [secret, outer] });

  const { data } = await registry.execute("task.outer", {}, { identity: operator });

  expect(data).toEqual({ id: "operator", scopes: [] });
  await expect(registry.execute("task.outer", {}, { identity: copy })).rejects.toMatchObject({
    details: { nested: { code: "ACCESS_DENIED" } },
  });
});
