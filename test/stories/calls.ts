import { Type } from "typebox";
import { describe, expect, onTestFinished, test } from "vitest";
import { buildCallHandler, PendingRequestMap } from "../../src/call/index.ts";
import { operation, subscription } from "../../src/call/testing.ts";
import { connect, type RemoteClient } from "../../src/client/index.ts";
import {
  CallError,
  type CallOptions,
  httpEnvelope,
  type Identity,
  type IOperationDefinition,
  mcpEnvelope,
  OperationRegistry,
  type ResponseEnvelope,
  subscribe,
} from "../../src/index.ts";
import { listen } from "../../src/node/index.ts";
import { serveHTTP } from "../../src/serve/http/index.ts";
import type { Transport } from "../../src/transport/transport.ts";
import type { TransportNetwork } from "../conformance/transport.ts";

/** How a story calls: directly, or through something that travels. */
interface Caller {
  call(id: string, input: unknown, options?: CallOptions): Promise<ResponseEnvelope>;
  subscribe(id: string, input: unknown, options?: CallOptions): AsyncIterable<ResponseEnvelope>;
}

const Task = Type.Object({ id: Type.String(), title: Type.String(), done: Type.Boolean({ default: false }) });
const ada = { id: "ada", scopes: ["task:write"], resources: { "task:1": ["read"] } };
const eve = { id: "eve", scopes: [] };

/** Called when the handler of `hang` starts, by the `key` of its input. */
const onHang = new Map<string, () => void>();

const operations: IOperationDefinition[] = [
  {
    ...operation("create", ({ title }) => ({ id: 7, title, secret: "left out" })),
    type: "mutation",
    inputSchema: Type.Object({ title: Type.String({ minLength: 1 }), priority: Type.Integer({ default: 3 }) }),
    outputSchema: Task,
    accessControl: { requiredScopes: ["task:write"] },
  },
  {
    ...operation("read", ({ id }) => ({ id })),
    inputSchema: Type.Object({ id: Type.String() }),
    accessControl: { requiredScopes: [], resourceType: "task", resourceAction: "read", resourceId: "/id" },
  },
  { ...operation("strict", () => ({ id: 1 })), outputSchema: Task, outputPolicy: "strict" },
  { ...operation("check", () => ({ id: 1, more: true })), outputSchema: Task, outputPolicy: "check" },
  operation("echo", (input) => input),
  operation("nothing", () => undefined),
  operation("caller", (_input, { identity, metadata }) => ({ identity, metadata })),
  operation("http", () => httpEnvelope([1], { statusCode: 201, headers: { a: "b" }, contentType: "application/json" })),
  operation("tool", () => mcpEnvelope("sorry", { isError: true, content: [{ type: "text", text: "sorry" }] })),
  operation("throw-error", () => {
    throw new TypeError("no such column");
  }),
  operation("throw-text", () => {
    throw "just text";
  }),
  operation("throw-declared", () => {
    throw new CallError(
      "NO_MONEY",
      "Nothing left.",
      { left: 0, at: new Date(0) },
      { retryable: true, mayHaveRun: false },
    );
  }),
  operation("nested", (input, { env }) => env["test"]!["create"]!(input)),
  operation("nested-wrong", (_input, { env }) => env["test"]!["create"]!({ title: "" })),
  operation("nested-missing", (_input, { env }) => (env["test"] as Record<string, () => unknown>)["gone"]!()),
  operation("hang", ({ key }) => {
    onHang.get(key)?.();
    return new Promise(() => {});
  }),
  subscription("count", async function* ({ upTo }) {
    for (let n = 1; n <= upTo; n++) yield n;
  }),
  subscription("broken", async function* () {
    yield 1;
    throw new CallError("BROKEN", "It broke.", { at: 1 });
  }),
];

/** What users do, each giving something that must not depend on the way. */
const stories: Record<string, (caller: Caller) => Promise<unknown>> = {
  "creates a task": ({ call }) => call("test.create", { title: "Ship it" }, { identity: ada }),
  "creates a task without the scope": ({ call }) => call("test.create", { title: "x" }, { identity: eve }),
  "creates a task without an identity": ({ call }) => call("test.create", { title: "x" }),
  "creates a task with wrong input": ({ call }) => call("test.create", { title: "", priority: 1.5 }, { identity: ada }),
  "reads a granted task": ({ call }) => call("test.read", { id: "1" }, { identity: ada }),
  "reads another's task": ({ call }) => call("test.read", { id: "2" }, { identity: ada }),
  "gets output that is refused": ({ call }) => call("test.strict", {}),
  "gets output that is checked": ({ call }) => call("test.check", {}),
  "sends values that JSON cannot hold": ({ call }) =>
    call("test.echo", { at: new Date(5), big: 5n, map: new Map([[1, new Set([2])]]) }),
  "gets nothing": ({ call }) => call("test.nothing", {}),
  "is known to the handler": ({ call }) => call("test.caller", {}, { identity: ada, metadata: { trace: "t-1" } }),
  "calls an HTTP endpoint": ({ call }) => call("test.http", {}),
  "calls a tool that reports an error": ({ call }) => call("test.tool", {}),
  "meets an error": ({ call }) => call("test.throw-error", {}),
  "meets a thrown text": ({ call }) => call("test.throw-text", {}),
  "meets a declared error": ({ call }) => call("test.throw-declared", {}),
  "calls through another operation": ({ call }) => call("test.nested", { title: "inner" }, { identity: ada }),
  "meets an error of a nested call": ({ call }) => call("test.nested-wrong", {}, { identity: ada }),
  "meets a nested operation that is gone": ({ call }) => call("test.nested-missing", {}),
  "misspells an operation": ({ call }) => call("test.creat", {}),
  "calls a subscription": ({ call }) => call("test.count", { upTo: 1 }),
  "subscribes to a query": async ({ subscribe: values }) => collect(values("test.echo", {})),
  "runs out of time": async ({ call }) => {
    // On a busy machine, a short time may be over before the handler starts.
    for (let time = 250; time < 30_000; time *= 2) {
      const key = crypto.randomUUID();
      let hasBegun = false;
      onHang.set(key, () => {
        hasBegun = true;
      });
      const error = await call("test.hang", { key }, { deadline: Date.now() + time }).catch((reason) => reason);
      if (hasBegun) throw error;
    }
    throw new Error("The handler was never called.");
  },
  "calls when the time is over": ({ call }) => call("test.echo", {}, { deadline: Date.now() - 1 }),
  "gives a duration for a deadline": ({ call }) => call("test.echo", {}, { deadline: 5_000 }),
  aborts: async ({ call }) => {
    const controller = new AbortController();
    const key = crypto.randomUUID();
    onHang.set(key, () => setImmediate(() => controller.abort("enough")));
    return call("test.hang", { key }, { signal: controller.signal });
  },
  "aborts before": ({ call }) => call("test.echo", {}, { signal: AbortSignal.abort("never mind") }),
  "reads a subscription": async ({ subscribe: values }) => collect(values("test.count", { upTo: 100 })),
  "reads a subscription that breaks": async ({ subscribe: values }) => collect(values("test.broken", {})),
  "leaves a subscription": async ({ subscribe: values }) => collect(values("test.count", { upTo: 1_000 }), 3),
};

async function collect(values: AsyncIterable<ResponseEnvelope>, most = Number.POSITIVE_INFINITY): Promise<unknown> {
  const seen: unknown[] = [];
  try {
    for await (const value of values) {
      seen.push(withoutTime(value));
      if (seen.length >= most) break;
    }
  } catch (error) {
    seen.push(describeError(error as CallError));
  }
  return seen;
}

function withoutTime(value: unknown): unknown {
  const { meta, ...rest } = value as ResponseEnvelope;
  if (meta === undefined) return value;
  return { ...rest, meta: meta.source === "local" ? { ...meta, timestamp: "some time" } : meta };
}

function describeError({ name, code, message, details, retryable, mayHaveRun }: CallError): unknown {
  return { name, code, message, details, retryable, mayHaveRun };
}

async function tell(story: (caller: Caller) => Promise<unknown>, caller: Caller): Promise<unknown> {
  try {
    return withoutTime(await story(caller));
  } catch (error) {
    return describeError(error as CallError);
  }
}

function createStoryRegistry(): OperationRegistry {
  const registry = new OperationRegistry();
  registry.registerAll(operations);
  return registry;
}

/** A caller without anything in between. */
function callDirectly(registry: OperationRegistry): Caller {
  return {
    call: (id, input, options) => registry.execute(id, input, options),
    subscribe: (id, input, options) => subscribe(registry, id, input, options),
  };
}

/** A caller over a network, connected with the identities of the stories. */
async function createTravelling(
  network: TransportNetwork,
): Promise<Caller & { pending(): number; close(): Promise<void> }> {
  const connect = async (identity?: Identity) => {
    const map = new PendingRequestMap(await network.caller(identity), { trustedBus: true });
    await knowsPeers(map.transport);
    return [identity, map] as const;
  };
  const maps = new Map(await Promise.all([connect(), connect(ada), connect(eve)]));
  return {
    call: (id, input, options) => maps.get(options?.identity)!.call(id, input, options),
    subscribe: (id, input, options) => maps.get(options?.identity)!.subscribe(id, input, options),
    pending: () => [...maps.values()].reduce((sum, map) => sum + map.pendingCount, 0),
    close: async () => void (await Promise.all(Array.from(maps.values(), (map) => map.close()))),
  };
}

/** A client returns the values of a subscription in any case: it is called in the same way as a query. */
const notForClients = new Set(["calls a subscription"]);

/** The same through the clients that `connect` returns. */
async function createConnected(network: TransportNetwork): Promise<Caller & { close(): Promise<void> }> {
  const open = async (identity?: Identity) => {
    const transport = await network.caller(identity);
    await knowsPeers(transport);
    return [identity, connect(transport, { identity, trustedBus: true })] as const;
  };
  const clients = new Map(await Promise.all([open(), open(ada), open(eve)]));
  const find = (id: string, identity?: Identity) => clients.get(identity)!["test"]![id.slice("test.".length)]!;
  return {
    call: (id, input, { identity, ...options } = {}) => find(id, identity).envelope(input, options),
    subscribe: (id, input, { identity, ...options } = {}) => find(id, identity).envelope(input, options),
    close: async () => void (await Promise.all(Array.from(clients.values(), (client) => client.close()))),
  };
}

/** Resolves when a peer has announced its operations: on a bus, only a listener knows the nearest name. */
function knowsPeers(transport: Transport): Promise<void> {
  return new Promise((resolve) => {
    const stop = transport.watchPeers(({ type }) => {
      if (type !== "peer.announced") return;
      resolve();
      queueMicrotask(() => stop());
    });
  });
}

/**
 * Law 1: every story has the same result over this transport as directly. `without` has the stories that do not apply to it,
 * each with the reason.
 */
export function describeStories(
  name: string,
  createNetwork: () => Promise<TransportNetwork>,
  { without = {} }: { without?: Record<string, string> } = {},
): void {
  describe(`the same results ${name} as with direct calls`, () => {
    for (const [title, story] of Object.entries(stories)) {
      if (title in without) continue;
      test(title, async () => {
        const registry = createStoryRegistry();
        const network = await createNetwork();
        const opened: Array<{ close(): Promise<void> }> = [network];
        onTestFinished(async () => {
          for (const it of opened.reverse()) await it.close();
        });
        const serving = new PendingRequestMap(await network.server());
        opened.push(serving);
        await serving.handle(buildCallHandler({ registry, callMap: serving, trustedBus: true })).ready;
        const travelling = await createTravelling(network);
        const connected = await createConnected(network);
        opened.push(travelling, connected);
        const isForClients = !notForClients.has(title);

        const [direct, travelled, throughClient] = await Promise.all([
          tell(story, callDirectly(registry)),
          tell(story, travelling),
          isForClients ? tell(story, connected) : undefined,
        ]);

        expect(travelled).toStrictEqual(direct);
        if (isForClients) expect(throughClient).toStrictEqual(direct);
        expect(travelling.pending()).toBe(0);
      });
    }
  });
}

/** Stories whose result over HTTP differs, because HTTP carries JSON. */
const notJSON = new Set(["sends values that JSON cannot hold"]);

/** Of the metadata of a call, HTTP only sends the trace context. */
const hasMetadata = new Set(["is known to the handler"]);

/** Returns what JSON makes of the details of an error: a date is its ISO string. */
function toJSONDetails(result: unknown): unknown {
  const { details } = result as { details?: unknown };
  return details === undefined ? result : { ...(result as object), details: JSON.parse(JSON.stringify(details)) };
}

/** Law 1: every story has the same result through `connect("http://…")` and `serveHTTP` as directly. */
export function describeHTTPStories(): void {
  describe("the same results over HTTP as with direct calls", () => {
    for (const [title, story] of Object.entries(stories)) {
      if (notForClients.has(title) || notJSON.has(title) || hasMetadata.has(title)) continue;
      test(title, async () => {
        const registry = createStoryRegistry();
        const server = serveHTTP(registry, {
          authenticate: ({ token }) => [ada, eve].find(({ id }) => id === token),
          allowAnonymous: true,
          exposeErrors: true,
        });
        const listener = await listen({ "/": server }, { closeTimeout: 0 });
        const clients = new Map<Identity | undefined, RemoteClient>(
          [undefined, ada, eve].map((identity) => [identity, connect(listener.url, { token: identity?.id })]),
        );
        onTestFinished(async () => {
          for (const client of clients.values()) await client.close();
          await listener.close();
        });
        const find = (id: string, identity?: Identity) => clients.get(identity)!["test"]![id.slice("test.".length)]!;

        const [direct, overHTTP] = await Promise.all([
          tell(story, callDirectly(registry)),
          tell(story, {
            call: (id, input, { identity, ...options } = {}) => find(id, identity).envelope(input, options),
            subscribe: (id, input, { identity, ...options } = {}) => find(id, identity).envelope(input, options),
          }),
        ]);

        expect(overHTTP).toStrictEqual(toJSONDetails(direct));
      });
    }
  });
}
