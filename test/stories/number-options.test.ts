import { createServer } from "node:http";
import {
  buildCallHandler,
  createRegistry,
  defineOperation,
  FromOpenAPI,
  FromOpenAPIFile,
  FromOpenAPIUrl,
  FromSchema,
  isCallError,
  type Limits,
  OperationRegistry,
  OperationType,
  PendingRequestMap,
  peerSource,
  scanOperations,
  subscribe as subscribeTo,
  Type,
} from "@alkdev/operations";
import { createMCPClient, type MCPClientConfig } from "@alkdev/operations/from-mcp";
import { type OpenAPISourceConfig, openAPISource, parseOpenAPI } from "@alkdev/operations/from-openapi";
import { createJWTAuthenticator, createJWTSigner } from "@alkdev/operations/jwt";
import { nodeFileSystem } from "@alkdev/operations/node";
import { createNATSTransport } from "@alkdev/operations/transport-nats";
import { createRedisTransport } from "@alkdev/operations/transport-redis";
import { createWebSocketServer, createWebSocketTransport } from "@alkdev/operations/transport-websocket";
import { createWorkerTransport } from "@alkdev/operations/transport-worker";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFreePort } from "../../src/internal/testing.ts";

const values: Array<[name: string, value: number | undefined]> = [
  ["undefined", undefined],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["NaN", Number.NaN],
  ["zero", 0],
  ["-1", -1],
  ["2 ** 31", 2 ** 31],
  ["2 ** 40", 2 ** 40],
  ['"5"', "5" as unknown as number],
];

const large = ["2 ** 31", "2 ** 40"];

/** Which of the values an option takes. The others are refused. */
const kinds: Record<string, readonly string[]> = {
  duration: ["undefined", ...large],
  "duration or Infinity": ["undefined", "Infinity", ...large],
  "duration or 0": ["undefined", "zero", ...large],
  "duration, 0 or Infinity": ["undefined", "Infinity", "zero", ...large],
  "count from 0": ["undefined", "zero", ...large],
  "count from 0 or Infinity": ["undefined", "Infinity", "zero", ...large],
  "count from 1": ["undefined", ...large],
  "count from 1 or Infinity": ["undefined", "Infinity", ...large],
  limit: ["undefined", "Infinity", ...large],
};

type Use = (value: number | undefined) => unknown;

/** A port that refuses connections, and modules, programs and documents that are not there: what is valid fails later. */
let closedPort = 0;

const document = { openapi: "3.1.0", info: { title: "Test", version: "1" }, servers: [{ url: "https://api.test" }] };

const files = { readFile: async () => JSON.stringify(document) };

const http = createServer();
beforeAll(async () => {
  closedPort = await findFreePort();
});
afterAll(() => http.close());

const openAPI = (settings: (value: number | undefined) => Partial<OpenAPISourceConfig>): Use => {
  return async (value) => {
    const source = openAPISource(document, { namespace: "test", ...settings(value) });
    await source.load();
    await source.close();
  };
};
const fromOpenAPI = (settings: (value: number | undefined) => object): Use => {
  return (value) => FromOpenAPI(document, { namespace: "test", ...settings(value) });
};
const mcp = (settings: (value: number | undefined) => Partial<MCPClientConfig>): Use => {
  return (value) => createMCPClient("test", { command: "/no/such/program", ...settings(value) });
};
const webSocket = (settings: (value: number | undefined) => object): Use => {
  return (value) =>
    createWebSocketTransport(`ws://127.0.0.1:${closedPort}`, { reconnect: false, ...settings(value) } as object);
};
const nats = (settings: (value: number | undefined) => object): Use => {
  return (value) => createNATSTransport({ servers: `127.0.0.1:${closedPort}`, ...settings(value) });
};
const redis = (settings: (value: number | undefined) => object): Use => {
  return (value) => createRedisTransport({ url: `redis://127.0.0.1:${closedPort}`, ...settings(value) });
};
const subscribe = (settings: (value: number | undefined) => object): Use => {
  return async (value) => {
    const calls = new PendingRequestMap();
    const stream = calls.subscribe("test.none", {}, settings(value));
    await stream.next().finally(() => calls.close());
  };
};
const stopAfter = async (timeout: number | undefined) => {
  const callMap = new PendingRequestMap();
  const stop = callMap.handle(buildCallHandler({ registry: new OperationRegistry(), callMap }));
  await stop({ timeout });
};
const fromRegistry = (settings: (value: number | undefined) => object): Use => {
  const ticks = defineOperation({
    namespace: "test",
    name: "ticks",
    version: "1.0.0",
    type: OperationType.SUBSCRIPTION,
    description: "",
    inputSchema: Type.Object({}),
    outputSchema: Type.Number(),
    accessControl: { requiredScopes: [] },
    handler: async function* () {
      yield 1;
    },
  });
  return async (value) => {
    const stream = subscribeTo(createRegistry({ operations: [ticks] }), "test.ticks", {}, settings(value));
    await stream.next();
    await stream.return?.(undefined);
  };
};
const handler = (settings: (value: number | undefined) => object): Use => {
  return (value) => {
    const callMap = new PendingRequestMap();
    buildCallHandler({ registry: new OperationRegistry(), callMap, ...settings(value) });
  };
};
const key = "a secret of at least thirty-two bytes";

const options: Array<[name: string, option: string, kind: string, use: Use]> = [
  ["OpenAPI", "timeout", "duration or Infinity", fromOpenAPI((timeout) => ({ timeout }))],
  ["OpenAPI", "idleTimeout", "duration or Infinity", fromOpenAPI((idleTimeout) => ({ idleTimeout }))],
  ["OpenAPI", "concurrency", "count from 1 or Infinity", fromOpenAPI((concurrency) => ({ concurrency }))],
  ["OpenAPI", "externalRefs.timeout", "duration", fromOpenAPI((timeout) => ({ externalRefs: { timeout } }))],
  ["OpenAPI", "retry.retries", "count from 0", fromOpenAPI((retries) => ({ retry: { retries } }))],
  ["OpenAPI", "retry.delay", "duration", fromOpenAPI((delay) => ({ retry: { delay } }))],
  ["OpenAPI", "retry.maxDelay", "duration", fromOpenAPI((maxDelay) => ({ retry: { maxDelay } }))],
  ["OpenAPI", "breaker.failures", "count from 1", fromOpenAPI((failures) => ({ breaker: { failures } }))],
  ["OpenAPI", "breaker.cooldown", "duration", fromOpenAPI((cooldown) => ({ breaker: { cooldown } }))],
  [
    "OpenAPI",
    "reconnect.attempts",
    "count from 0 or Infinity",
    fromOpenAPI((attempts) => ({ reconnect: { attempts } })),
  ],
  ["OpenAPI", "reconnect.delay", "duration", fromOpenAPI((delay) => ({ reconnect: { delay } }))],
  ["OpenAPI", "reconnect.maxDelay", "duration", fromOpenAPI((maxDelay) => ({ reconnect: { maxDelay } }))],
  ["openAPISource", "refresh", "duration or Infinity", openAPI((refresh) => ({ refresh }))],
  ["openAPISource", "timeout", "duration or Infinity", openAPI((timeout) => ({ timeout }))],
  [
    "FromOpenAPIUrl",
    "timeout",
    "duration or Infinity",
    (timeout) => FromOpenAPIUrl(`http://127.0.0.1:${closedPort}`, { namespace: "test", timeout }),
  ],
  ["MCP", "timeouts.connect", "duration", mcp((connect) => ({ timeouts: { connect } }))],
  ["MCP", "timeouts.request", "duration", mcp((request) => ({ timeouts: { request } }))],
  ["MCP", "timeouts.stop", "duration", mcp((stop) => ({ timeouts: { stop } }))],
  ["MCP", "timeouts.kill", "duration", mcp((kill) => ({ timeouts: { kill } }))],
  ["MCP", "restart.limit", "count from 0 or Infinity", mcp((limit) => ({ restart: { limit } }))],
  ["MCP", "restart.window", "duration", mcp((window) => ({ restart: { window } }))],
  ["MCP", "restart.delay", "duration", mcp((delay) => ({ restart: { delay } }))],
  ["MCP", "restart.maxDelay", "duration", mcp((maxDelay) => ({ restart: { maxDelay } }))],
  ["MCP", "limits.lineBytes", "limit", mcp((lineBytes) => ({ limits: { lineBytes } }))],
  ["MCP", "limits.pages", "limit", mcp((pages) => ({ limits: { pages } }))],
  ["WebSocket client", "heartbeat", "duration or 0", webSocket((heartbeat) => ({ heartbeat }))],
  ["WebSocket client", "connectTimeout", "duration", webSocket((connectTimeout) => ({ connectTimeout }))],
  ["WebSocket client", "reconnect.first", "duration", webSocket((first) => ({ reconnect: { first } }))],
  ["WebSocket client", "reconnect.max", "duration", webSocket((max) => ({ reconnect: { max } }))],
  [
    "WebSocket server",
    "heartbeat",
    "duration or 0",
    async (heartbeat) => (await createWebSocketServer({ server: http, heartbeat })).close(),
  ],
  ["NATS", "heartbeat", "duration", nats((heartbeat) => ({ heartbeat }))],
  ["NATS", "connect.reconnectTimeWait", "duration", nats((reconnectTimeWait) => ({ connect: { reconnectTimeWait } }))],
  ["NATS", "connect.reconnectJitter", "duration or 0", nats((reconnectJitter) => ({ connect: { reconnectJitter } }))],
  ["NATS", "connect.pingInterval", "duration", nats((pingInterval) => ({ connect: { pingInterval } }))],
  ["NATS", "connect.timeout", "duration", nats((timeout) => ({ connect: { timeout } }))],
  ["Redis", "heartbeat", "duration", redis((heartbeat) => ({ heartbeat }))],
  ["Redis", "connect.pingInterval", "duration or 0", redis((pingInterval) => ({ connect: { pingInterval } }))],
  [
    "Redis",
    "connect.socket.connectTimeout",
    "duration or 0",
    redis((connectTimeout) => ({ connect: { socket: { connectTimeout } } })),
  ],
  [
    "Redis",
    "connect.socket.socketTimeout",
    "duration or 0",
    redis((socketTimeout) => ({ connect: { socket: { socketTimeout } } })),
  ],
  [
    "Redis",
    "connect.socket.reconnectStrategy",
    "duration",
    redis((reconnectStrategy) => ({ connect: { socket: { reconnectStrategy } } })),
  ],
  [
    "PendingRequestMap",
    "defaultTimeout",
    "duration or Infinity",
    (defaultTimeout) => new PendingRequestMap(undefined, { defaultTimeout }),
  ],
  ["subscribe", "idleTimeout", "duration or Infinity", subscribe((idleTimeout) => ({ idleTimeout }))],
  ["stop", "timeout", "duration, 0 or Infinity", (timeout) => stopAfter(timeout)],
  ["registry.subscribe", "idleTimeout", "duration or Infinity", fromRegistry((idleTimeout) => ({ idleTimeout }))],
  ["buildCallHandler", "defaultTimeout", "duration or Infinity", handler((defaultTimeout) => ({ defaultTimeout }))],
  ["buildCallHandler", "maxTimeout", "duration or Infinity", handler((maxTimeout) => ({ maxTimeout }))],
  ["JWT signer", "lifetime", "duration", (lifetime) => createJWTSigner({ key, audience: "test", lifetime })],
  [
    "JWT authenticator",
    "clockTolerance",
    "duration or 0",
    (clockTolerance) => createJWTAuthenticator({ key, audience: "test", clockTolerance }),
  ],
  [
    "JWT authenticator",
    "maxLifetime",
    "duration or Infinity",
    (maxLifetime) => createJWTAuthenticator({ key, audience: "test", maxLifetime }),
  ],
];

/** Every function that takes `limits`, with one that it uses. */
const limited: Array<[name: string, limit: keyof Limits, use: (limits: Limits) => unknown]> = [
  ["FromSchema", "schemaDepth", (limits) => FromSchema({}, { limits })],
  ["FromOpenAPI", "operations", (limits) => FromOpenAPI(document, { namespace: "test", limits })],
  ["FromOpenAPIFile", "documentBytes", (limits) => FromOpenAPIFile("api.json", { namespace: "test", limits }, files)],
  [
    "FromOpenAPIUrl",
    "documentBytes",
    (limits) => FromOpenAPIUrl(`http://127.0.0.1:${closedPort}`, { namespace: "test", limits }),
  ],
  ["parseOpenAPI", "documentBytes", (limits) => parseOpenAPI("{}", limits)],
  ["openAPISource", "operations", (limits) => openAPI(() => ({ limits }))(0)],
  ["createMCPClient", "responseBytes", (limits) => mcp(() => ({ limits }))(0)],
  ["scanOperations", "operations", (limits) => scanOperations("/no/such/folder", nodeFileSystem, { limits })],
  ["createRegistry", "callDepth", (limits) => createRegistry({ operations: [], limits })],
  ["OperationRegistry", "callDepth", (limits) => new OperationRegistry({ limits })],
  ["PendingRequestMap", "pendingCalls", (limits) => new PendingRequestMap(undefined, { limits })],
  ["buildCallHandler", "pendingCalls", (limits) => handler(() => ({ limits }))(0)],
  ["peerSource", "operations", (limits) => peerSource(new PendingRequestMap(), { limits })],
  ["createWebSocketTransport", "maxMessage", (limits) => webSocket(() => ({ limits }))(0)],
  [
    "createWebSocketServer",
    "maxMessage",
    async (limits) => (await createWebSocketServer({ server: http, limits })).close(),
  ],
  [
    "createWorkerTransport",
    "maxMessage",
    (limits) => createWorkerTransport(new MessageChannel().port1, { limits }).close(),
  ],
  ["createNATSTransport", "maxMessage", (limits) => nats(() => ({ limits }))(0)],
  ["createRedisTransport", "maxMessage", (limits) => redis(() => ({ limits }))(0)],
];

/** The names of the accepted values. Later failures do not matter here. */
async function findTaken(option: string, use: Use): Promise<string[]> {
  const taken: string[] = [];
  for (const [name, value] of values) {
    try {
      await use(value);
      taken.push(name);
    } catch (error) {
      if (!isCallError(error) || error.code !== "VALIDATION_ERROR") taken.push(name);
      else expect(error.message).toMatch(refusalOf(option));
    }
  }
  return taken;
}

function refusalOf(option: string): RegExp {
  return new RegExp(`^Invalid options(?: of ".+")?: /${option.replaceAll(".", "/")} must be an? .+, not \\S+\\.$`);
}

describe("a number that an option cannot use is refused, by name, before anything is started", () => {
  test.each(options)("%s: %s is a %s", async (_name, option, kind, use) => {
    expect(await findTaken(option, use)).toEqual(kinds[kind]);
  });
});

describe("limits are numbers above 0 or Infinity, and undefined is the default", () => {
  test.each(limited)("%s: limits.%s", async (_name, limit, use) => {
    expect(await findTaken(`limits.${limit}`, (value) => use({ [limit]: value }))).toEqual(kinds["limit"]);
  });
});
