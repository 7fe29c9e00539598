import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { MessageChannel } from "node:worker_threads";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { buildCallHandler, PendingRequestMap, peerSource } from "../../src/call/index.ts";
import { operation } from "../../src/call/testing.ts";
import type { OperationContext } from "../../src/index.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { createInProcessTransport, InProcessBus } from "../../src/transport/in-process/index.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { createWebSocketServer, createWebSocketTransport } from "../../src/transport/websocket/index.ts";
import { createWorkerTransport } from "../../src/transport/worker/index.ts";
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

type Link = [caller: Transport, server: Transport];

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

/** The requests that were started and ended on each level, of one call at the top. */
type Tree = Record<"started" | "ended", Array<Set<string>>>;

/**
 * Each level calls the next three times, over a transport of another kind; the last one waits. The input selects which of
 * the trees a call belongs to.
 */
async function growTree(trees: readonly Tree[]): Promise<PendingRequestMap> {
  const names = Object.keys(links);
  let below: PendingRequestMap | undefined;
  for (const [level, name] of [...names.entries()].reverse()) {
    const [caller, server] = await links[name]!();
    const [calling, serving] = [new PendingRequestMap(caller), new PendingRequestMap(server)];
    closing.push(
      () => calling.close(),
      () => serving.close(),
    );
    const registry = new OperationRegistry();
    registry.register(operation(`level${level}`, (input, context) => run(level, input, context)));
    if (below !== undefined) await registry.follow(peerSource(below));
    const next = `test.level${level + 1}`;
    if (below !== undefined) await vi.waitFor(() => expect(registry.getHandler(next)).toBeDefined());
    await serving.handle(buildCallHandler({ registry, callMap: serving })).ready;
    below = calling;
  }
  return below!;

  async function run(level: number, input: number, { signal, env, requestId }: OperationContext): Promise<unknown> {
    const seen = trees[input]!;
    seen.started[level]!.add(requestId);
    signal.addEventListener("abort", () => seen.ended[level]!.add(requestId));
    if (level + 1 === names.length) return new Promise(() => {});
    const call = env["test"]![`level${level + 1}`] as (input: unknown) => Promise<unknown>;
    try {
      return await Promise.all(Array.from({ length: fanOut }, () => call(input)));
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
    const trees: Tree[] = [];
    const counts = (kind: keyof Tree) => trees.at(-1)?.[kind].map(({ size }) => size);
    const isWhole = () => counts("started")?.join() === "1,3,9,27,81";
    const root = await growTree(trees);
    const controller = new AbortController();
    const { signal } = controller;
    let call: Promise<unknown> | undefined;
    // On a busy machine, the time may be up before all of them have begun.
    for (let time = 3_000; !isWhole(); time *= 2) {
      let hasEnded = false;
      const tree = trees.push({ started: levels(), ended: levels() }) - 1;
      const limit = how === "aborted" ? { signal } : { deadline: Date.now() + time };
      call = root.call("test.level0", tree, limit).catch(({ code }) => {
        hasEnded = true;
        return code;
      });
      await vi.waitUntil(() => isWhole() || hasEnded);
    }

    if (how === "aborted") controller.abort();

    expect(await call).toBe(how === "aborted" ? "ABORTED" : "TIMEOUT");
    await vi.waitFor(() => expect(counts("ended")).toEqual([1, 3, 9, 27, 81]));
    expect(root.pendingCount).toBe(0);
  },
);
