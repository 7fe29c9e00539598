import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { type IOperationDefinition, OperationRegistry, type RegistryOptions } from "../index.ts";
import { createInProcessTransport, InProcessBus } from "../transport/in-process/index.ts";
import type { CallRequested, ReplyFrame, Transport } from "../transport/transport.ts";
import { createWebSocketServer, createWebSocketTransport } from "../transport/websocket/index.ts";
import { buildCallHandler, PendingRequestMap, peerSource } from "./index.ts";
import { operation, requested, subscription, until } from "./testing.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Pair = () => Promise<[Transport, Transport]>;

const pairInProcess: Pair = async () => {
  const bus = new InProcessBus();
  return [createInProcessTransport(bus), createInProcessTransport(bus)];
};

const pairOfWebSockets: Pair = async () => {
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  closing.push(() => http.close());
  const server = await createWebSocketServer({ server: http, acceptOperations: true });
  const { port } = http.address() as AddressInfo;
  return [server, await createWebSocketTransport(`ws://127.0.0.1:${port}/`)];
};

/** A peer that serves its operations, and has those of the other. */
async function join(transport: Transport, definitions: IOperationDefinition[], limits: RegistryOptions["limits"]) {
  const map = new PendingRequestMap(transport);
  closing.push(() => map.close());
  const registry = new OperationRegistry({ limits });
  registry.registerAll(definitions);
  await map.handle(buildCallHandler({ registry, callMap: map, limits })).ready;
  await registry.follow(peerSource(map));
  return registry;
}

/** Calls the peer's operation `width` times, one after the other or all together, and counts its own runs. */
function bouncing(own: string, other: string, width: number, isParallel: boolean) {
  const counter = { runs: 0 };
  const definition = operation(own, async (_input, { env }) => {
    counter.runs += 1;
    const call = () => env["test"]![other]!({});
    if (isParallel) await Promise.all(Array.from({ length: width }, call));
    else for (let n = 0; n < width; n++) await call().catch(() => {});
    return "done";
  });
  return { counter, definition };
}

describe.each([
  ["in process", pairInProcess],
  ["over WebSockets", pairOfWebSockets],
])("peers that call each other %s", (_name, createPair) => {
  test("for ever are stopped by the depth of the calls", async () => {
    const [ping, pong] = [bouncing("ping", "pong", 1, true), bouncing("pong", "ping", 1, true)];
    const [one, other] = await createPair();
    const hub = await join(one, [ping.definition], undefined);
    await join(other, [pong.definition], undefined);
    await until(() => hub.has("test.pong"));

    const call = hub.execute("test.ping", {});

    await expect(call).rejects.toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "callDepth", allowed: 64 } });
    // Each stands two below the one before: the call of the imported operation, and the one at the peer.
    expect([ping.counter.runs, pong.counter.runs]).toEqual([17, 16]);
  });
});

describe("what a request claims of the calls above it", () => {
  async function serve(definitions: IOperationDefinition[], limits?: RegistryOptions["limits"]) {
    const bus = new InProcessBus();
    await join(createInProcessTransport(bus), definitions, limits);
    const transport = createInProcessTransport(bus);
    return (frame: Partial<CallRequested>) =>
      new Promise<ReplyFrame>((resolve) => {
        transport.request("test.outer", { ...requested("test.outer", {}), ...frame }, resolve);
      });
  }
  const inner = operation("inner", () => "in");
  const outer = operation("outer", (_input, { env }) => env["test"]!["inner"]!({}));

  test("counts from the depth that it claims, and nested calls continue from there", async () => {
    const ask = await serve([inner, outer]);

    expect(await ask({ depth: 63 })).toMatchObject({ output: { data: "in" } });
    expect(await ask({ depth: 64 })).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "callDepth" } });
    expect(await ask({ depth: Number.MAX_SAFE_INTEGER })).toMatchObject({ code: "LIMIT_EXCEEDED" });
  });

  test("never allows more, whatever it is", async () => {
    const middle = operation("middle", (_input, { env }) => env["test"]!["inner"]!({}));
    const top = operation("outer", (_input, { env }) => env["test"]!["middle"]!({}));
    const ask = await serve([inner, middle, top], { callDepth: 1 });

    for (const depth of [-1, -1e9, Number.NaN, 0.5, "0", null, {}]) {
      expect(await ask({ depth: depth as never })).toMatchObject({ code: "LIMIT_EXCEEDED" });
    }
  });

  test("is visible to handlers: progress, ids and signals work as at the top", async () => {
    const bus = new InProcessBus();
    const seen = operation("seen", (_input, { requestId, parentRequestId, progress, signal }) => {
      progress({ progress: 1 });
      return [requestId, parentRequestId, signal.aborted];
    });
    await join(createInProcessTransport(bus), [seen], undefined);
    const replies: unknown[] = [];

    await new Promise<void>((resolve) => {
      const frame = { ...requested("test.seen", {}, "r"), parentRequestId: "p", depth: 3 };
      createInProcessTransport(bus).request("test.seen", frame, (reply) => {
        replies.push(reply.type === "call.responded" ? reply.output.data : reply.type);
        if (reply.type === "call.responded") resolve();
      });
    });

    expect(replies).toEqual(["call.progressed", ["r", "p", false]]);
  });

  test("subscriptions count like calls", async () => {
    const bus = new InProcessBus();
    const ticks = subscription("ticks", async function* () {
      yield 1;
    });
    await join(createInProcessTransport(bus), [ticks], undefined);
    const transport = createInProcessTransport(bus);

    const reply = await new Promise((resolve) => {
      transport.request("test.ticks", { ...requested("test.ticks", {}), credit: 1, depth: 65 }, resolve);
    });

    expect(reply).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "callDepth" } });
  });
});
