import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { bearerTokens, createToken } from "../../src/auth/index.ts";
import {
  createRegistry,
  defineOperation,
  type Identity,
  OperationRegistry,
  PendingRequestMap,
  peerSource,
  Type,
} from "../../src/index.ts";
import { type Listener, listen } from "../../src/node/index.ts";
import { serveHTTP } from "../../src/serve/http/index.ts";
import { serveMCP } from "../../src/serve/mcp/index.ts";
import { createWebSocketTransport, serveWebSocket } from "../../src/transport/websocket/index.ts";

/** A caller, and a string that is part of everything that only this caller may see. */
interface Person {
  readonly identity: Identity;
  readonly token: string;
  readonly mark: string;
}

const tokens = [createToken(), createToken()] as const;
const ada: Person = { identity: { id: "ada-mq7", scopes: ["mq7"] }, token: tokens[0].token, mark: "mq7" };
const bob: Person = { identity: { id: "bob-zx4", scopes: ["zx4"] }, token: tokens[1].token, mark: "zx4" };

/** A query and a subscription for one person: the mark is in every part of their specs. */
function operationsOf({ mark }: Person) {
  const part = {
    namespace: "fruit",
    description: `Only for ${mark}`,
    tags: [`tag-${mark}`],
    inputSchema: Type.Object({ [`input_${mark}`]: Type.Optional(Type.String()) }),
    outputSchema: Type.Unknown(),
    errors: { [`ROTTEN_${mark.toUpperCase()}`]: Type.Object({ [`error_${mark}`]: Type.String() }) },
    accessControl: { requiredScopes: [mark] },
  };
  return [
    defineOperation({ ...part, name: `pick_${mark}`, type: "query", handler: () => `picked by ${mark}` }),
    defineOperation({
      ...part,
      name: `ripe_${mark}`,
      type: "subscription",
      handler: async function* () {
        yield `ripe for ${mark}`;
      },
    }),
  ];
}

const shared = { namespace: "shared", inputSchema: Type.Object({}), outputSchema: Type.Unknown() };
const registry = createRegistry({
  operations: [
    ...operationsOf(ada),
    ...operationsOf(bob),
    defineOperation({ ...shared, name: "whoami", type: "query", handler: (_input, { identity }) => identity ?? null }),
    defineOperation({
      ...shared,
      name: "feed",
      type: "subscription",
      handler: async function* (_input, { identity }) {
        for (let value = 0; value < 50; value++) {
          yield { value, of: identity?.id };
          await null; // other subscriptions continue in between
        }
      },
    }),
  ],
});

let listener: Listener;
beforeAll(async () => {
  const authenticate = bearerTokens([
    { hash: tokens[0].hash, identity: ada.identity },
    { hash: tokens[1].hash, identity: bob.identity },
  ]);
  const options = { authenticate };
  listener = await listen({
    "/": serveHTTP(registry, options),
    "/calls": serveWebSocket(registry, options),
    "/mcp": serveMCP(registry, options),
    "/mcp-search": serveMCP(registry, { ...options, mode: "search" }),
  });
});
afterAll(() => listener.close());

function send(path: string, { token }: Person, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(listener.url + path, { headers: { ...headers, authorization: `Bearer ${token}` } });
}

/** Returns status, headers and body of a response as one string. */
async function get(path: string, person: Person, headers: Record<string, string> = {}): Promise<string> {
  const response = await send(path, person, headers);
  return JSON.stringify([response.status, ...response.headers, await response.text()]);
}

/** Returns all frames of a connection until the reply to the last of these calls. */
function framesOf({ token }: Person, calls: readonly object[]): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  const socket = new WebSocket(`${listener.url.replace("http", "ws")}/calls`, "alkdev.operations.v1", { headers });
  return new Promise((resolve, reject) => {
    let frames = "";
    socket.on("error", reject);
    socket.on("open", () => {
      for (const call of calls) socket.send(JSON.stringify({ type: "call.requested", input: {}, ...call }));
      socket.send('{"type":"call.requested","requestId":"last","operationId":"shared.whoami","input":{}}');
    });
    socket.on("message", (data) => {
      frames += String(data);
      if (!/"call\.responded","requestId":"last"|"requestId":"last"[^\n]*"call\.responded"/.test(frames)) return;
      socket.close();
      resolve(frames);
    });
  });
}

async function withConnection<T>({ token }: Person, use: (calls: PendingRequestMap) => Promise<T>): Promise<T> {
  const calls = new PendingRequestMap(await createWebSocketTransport(`${listener.url}/calls`, { token }));
  try {
    return await use(calls);
  } finally {
    await calls.close();
  }
}

/** Connects a client of an older or the current version of MCP. */
async function withClient<T>(
  { token }: Person,
  path: "/mcp" | "/mcp-search",
  version: "legacy" | "2026-07-28",
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const mode = version === "legacy" ? version : { pin: version };
  const client = new Client({ name: "test", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(listener.url + path), { requestInit }));
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

const listTools = (person: Person, version: "legacy" | "2026-07-28") =>
  withClient(person, "/mcp", version, async (client) => JSON.stringify(await client.listTools()));

const callTool = (person: Person, path: "/mcp" | "/mcp-search", name: string, input: Record<string, unknown> = {}) =>
  withClient(person, path, "2026-07-28", async (client) => {
    const outcome = await client.callTool({ name, arguments: input }).catch((error) => String(error));
    return JSON.stringify(outcome);
  });

/** Everything that a person can read. Each entry returns it as a string. `other` is the person whose data must stay hidden. */
const probes: Record<string, (person: Person, other: Person) => Promise<string>> = {
  "the OpenAPI document": (person) => get("/openapi.json", person),
  "the OpenAPI document, when a cache has that of the other": async (person, other) => {
    const cached = await send("/openapi.json", other);
    const etag = cached.headers.get("etag") ?? expect.unreachable("The document has no ETag.");
    expect([
      (await send("/openapi.json", other, { "if-none-match": etag })).status,
      cached.headers.get("vary"),
    ]).toEqual([304, "authorization"]);
    return get("/openapi.json", person, { "if-none-match": etag });
  },
  "the suggestion for a name that does not exist": (person) => get("/fruit/pick_", person),
  "the result of a call": (person) => get("/shared/whoami", person),
  "a stream of server-sent events": (person) => get("/shared/feed", person),
  "a stream that is resumed at an event of the other": (person) =>
    get("/shared/feed", person, { "last-event-id": "49" }),
  "a search in the registry": async ({ identity }) => JSON.stringify(registry.search("fruit", { identity })),
  "the frames of a WebSocket": (person) => framesOf(person, []),
  "the suggestion over a WebSocket": (person) => framesOf(person, [{ requestId: "r", operationId: "fruit.pick_" }]),
  "the operations of a registry that follows the server": (person) =>
    withConnection(person, async (calls) => {
      const follower = new OperationRegistry();
      await follower.follow(peerSource(calls));
      return JSON.stringify(follower.list());
    }),
  "a subscription over a WebSocket": (person) =>
    withConnection(person, async (calls) => {
      const values: unknown[] = [];
      for await (const { data } of calls.subscribe("shared.feed", {})) values.push(data);
      return JSON.stringify(values);
    }),
  "the tools of an MCP server": (person) => listTools(person, "2026-07-28"),
  "the tools of an MCP session": (person) => listTools(person, "legacy"),
  "the result of an MCP tool": (person) => callTool(person, "/mcp", "shared_whoami"),
  "the values of a subscription over MCP": (person) => callTool(person, "/mcp", "shared_feed"),
  "the results of search_operations": (person) =>
    callTool(person, "/mcp-search", "search_operations", { query: "fruit" }),
};

test("an MCP session does not accept the token of another caller", async () => {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const post = (person: Person, message: object, session: Record<string, string> = {}) =>
    fetch(`${listener.url}/mcp`, {
      method: "POST",
      headers: { ...headers, ...session, authorization: `Bearer ${person.token}` },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
    });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const opened = await post(ada, { method: "initialize", params });
  await opened.text();
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? expect.unreachable("no session") };
  const stolen = await post(bob, { method: "tools/list" }, session);
  const own = await post(ada, { method: "tools/list" }, session);
  expect([stolen.status, (await stolen.text()).includes(ada.mark)]).toEqual([404, false]);
  expect([own.status, (await own.text()).includes(ada.mark)]).toEqual([200, true]);
});

test.each(Object.entries(probes))("%s contains nothing of another caller", async (_name, probe) => {
  // Both orders, and at the same time, so that neither a cache nor shared state mixes them up.
  const first = await probe(ada, bob);
  const second = await probe(bob, ada);
  const [third, fourth] = await Promise.all([probe(ada, bob), probe(bob, ada)]);
  for (const [text, own, other] of [
    [first, ada, bob],
    [second, bob, ada],
    [third, ada, bob],
    [fourth, bob, ada],
  ] as const) {
    expect(text.toLowerCase()).toContain(own.mark);
    expect(text.toLowerCase()).not.toContain(other.mark);
  }
});

test("a hundred calls of each caller at the same time have their own results", async () => {
  const people = Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? ada : bob));
  const results = await Promise.all(people.map((person) => get("/shared/whoami", person)));
  const mixed = results.filter((text, index) => !text.includes(people[index]!.identity.id));
  expect(mixed).toEqual([]);
});

test("equal request ids of two connections belong to two calls", async () => {
  const call = { requestId: "same", operationId: "shared.whoami" };
  const [one, two] = await Promise.all([framesOf(ada, [call]), framesOf(bob, [call])]);
  expect([one.includes("ada-mq7"), one.includes("bob-zx4")]).toEqual([true, false]);
  expect([two.includes("ada-mq7"), two.includes("bob-zx4")]).toEqual([false, true]);
});
