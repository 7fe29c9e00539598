import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { MessageChannel } from "node:worker_threads";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { buildCallHandler, importPeers, PendingRequestMap } from "../../src/call/index.ts";
import type { OperationContext } from "../../src/index.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { createInProcessTransport, InProcessBus } from "../../src/transport/in-process/index.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { createWebSocketServer, createWebSocketTransport } from "../../src/transport/websocket/index.ts";
import { createWorkerTransport } from "../../src/transport/worker/index.ts";
import { operation } from "../conformance/transport-helpers.ts";
import { startNATS } from "../services/nats.ts";
import { startRedis } from "../services/redis.ts";
import { connectBroker } from "./brokers.ts";

const [nats, redis] = await Promise.all([startNATS(), startRedis()]);
const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
afterAll(async () => {
  await Promise.all([nats?.close(), redis?.close()]);
});

type Link = [asker: Transport, server: Transport];

const links: Record<string, () => Promise<Link>> = {
  "in process": async () => {
    const bus = new InProcessBus();
    return [createInProcessTransport(bus), createInProcessTransport(bus)];
  },
  worker: async () => {
    const { port1, port2 } = new MessageChannel();
    return [createWorkerTransport(port1), createWorkerTransport(port2)];
  },
  websocket: async () => {
    const http = createServer();
    closing.push(() => http.close());
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    const server = await createWebSocketServer({ server: http });
    return [await createWebSocketTransport(`ws://127.0.0.1:${(http.address() as AddressInfo).port}`), server];
  },
  nats: async () => [await connectBroker("nats", nats!.port), await connectBroker("nats", nats!.port)],
  redis: async () => [await connectBroker("redis", redis!.port), await connectBroker("redis", redis!.port)],
};

const fanOut = 3;

/** Each level calls the next three times, over a transport of another kind; the last one waits. */
async function growTree(seen: Record<"started" | "ended", Array<Set<string>>>): Promise<PendingRequestMap> {
  const names = Object.keys(links);
  let below: PendingRequestMap | undefined;
  for (const [level, name] of [...names.entries()].reverse()) {
    const [asker, server] = await links[name]!();
    const [asking, serving] = [new PendingRequestMap(asker), new PendingRequestMap(server)];
    closing.push(
      () => asking.close(),
      () => serving.close(),
    );
    const registry = new OperationRegistry();
    registry.register(operation(`level${level}`, (_input, context) => run(level, context)));
    if (below !== undefined) await registry.follow(importPeers(below));
    const next = `test.level${level + 1}`;
    if (below !== undefined) await vi.waitFor(() => expect(registry.getHandler(next)).toBeDefined(), 10_000);
    await serving.handle(buildCallHandler({ registry, callMap: serving })).ready;
    below = asking;
  }
  return below!;

  async function run(level: number, { signal, env, requestId }: OperationContext): Promise<unknown> {
    seen.started[level]!.add(requestId);
    signal.addEventListener("abort", () => seen.ended[level]!.add(requestId));
    if (level + 1 === names.length) return new Promise(() => {});
    const call = env["test"]![`level${level + 1}`] as (input: unknown) => Promise<unknown>;
    try {
      return await Promise.all(Array.from({ length: fanOut }, () => call({})));
    } finally {
      // Those below may be the first to find out that the time is up.
      seen.ended[level]!.add(requestId);
    }
  }
}

test.skipIf(nats === undefined || redis === undefined).each(["aborted", "out of time"])(
  "a call that is %s ends everything below it, five levels deep over five transports",
  async (how) => {
    const levels = () => Array.from(Object.keys(links), () => new Set<string>());
    const seen = { started: levels(), ended: levels() };
    const counts = (sets: Array<Set<string>>) => sets.map(({ size }) => size);
    const root = await growTree(seen);
    const controller = new AbortController();
    const deadline = how === "aborted" ? {} : { deadline: Date.now() + 3_000 };
    const call = root.call("test.level0", {}, { signal: controller.signal, ...deadline }).catch(({ code }) => code);
    await vi.waitFor(() => expect(counts(seen.started)).toEqual([1, 3, 9, 27, 81]), 10_000);

    if (how === "aborted") controller.abort();

    expect(await call).toBe(how === "aborted" ? "ABORTED" : "TIMEOUT");
    await vi.waitFor(() => expect(counts(seen.ended)).toEqual([1, 3, 9, 27, 81]), 10_000);
    expect(root.getPendingCount()).toBe(0);
  },
);
