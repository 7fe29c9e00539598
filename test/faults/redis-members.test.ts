import { createClient } from "@redis/client";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { buildCallHandler, PendingRequestMap, peerSource } from "../../src/call/index.ts";
import { deferred, operation } from "../../src/call/testing.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { createRedisTransport, type RedisTransportOptions } from "../../src/transport/redis/index.ts";
import { startRedis } from "../services/redis.ts";
import { outcome } from "./suite.ts";

const service = await startRedis();
afterAll(() => service?.close());

describe.skipIf(service === undefined)("members of a Redis bus", () => {
  const url = `redis://127.0.0.1:${service?.port}`;
  const connect = async (options: RedisTransportOptions = {}) => {
    const map = new PendingRequestMap(await createRedisTransport({ url, ...options }));
    onTestFinished(() => map.close());
    return map;
  };
  const serve = async (map: PendingRequestMap, ...definitions: ReturnType<typeof operation>[]) => {
    const registry = new OperationRegistry();
    registry.registerAll(definitions);
    await map.handle(buildCallHandler({ registry, callMap: map })).ready;
  };
  const inspect = async () => {
    const client = await createClient({ url, RESP: 2, maintNotifications: "disabled" }).connect();
    onTestFinished(() => client.destroy());
    return <T = unknown>(...args: string[]) => client.sendCommand(args) as unknown as Promise<T>;
  };

  test("messages of peers in another database are not received", async () => {
    const hub = new OperationRegistry();
    onTestFinished(() => hub.close());
    await hub.follow(peerSource(await connect()));
    const seventh = new OperationRegistry();
    onTestFinished(() => seventh.close());
    await seventh.follow(peerSource(await connect({ url: `${url}/7` })));

    await serve(
      await connect({ connect: { database: 7 } }),
      operation("seventh", () => 7),
    );
    await serve(
      await connect(),
      operation("first", () => 0),
    );

    await vi.waitFor(() => expect(hub.has("test.first") && seventh.has("test.seventh")).toBe(true));
    expect([hub.has("test.seventh"), seventh.has("test.first")]).toEqual([false, false]);
  });

  test.each(["", ":", "a:", "a b", "*", "a\n", "a".repeat(257)])("the prefix %j is refused", async (prefix) => {
    await expect(createRedisTransport({ url, prefix })).rejects.toThrow(/^prefix must be letters/);
  });

  test("a caller whose call another member aborts is notified", async () => {
    const send = await inspect();
    const [started, stopped] = [deferred<string>(), deferred<void>()];
    const hang = operation("hang", (_input, { signal, requestId }) => {
      signal.addEventListener("abort", () => stopped.resolve());
      started.resolve(requestId);
      return new Promise(() => {});
    });
    const worker = await connect({ prefix: "forged", heartbeat: 1_000 });
    await serve(worker, hang);
    const calls = await connect({ prefix: "forged", heartbeat: 1_000 });
    const call = outcome(calls.call("test.hang", {}, { deadline: Date.now() + 200_000 }));
    const requestId = await started.promise;

    const channels = await send<string[]>("PUBSUB", "CHANNELS", "forged:0:inbox:*");
    const abort = JSON.stringify({ type: "call.aborted", requestId });
    const [list] = await send<string[]>("SMEMBERS", "forged:sets");
    for (const address of channels) await send("PUBLISH", `forged:0:list:${list}`, `@${address}\n${abort}`);

    await stopped.promise;
    expect(await call).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
  });

  test("concurrent calls are distributed over idle workers", async () => {
    const started = [0, 0, 0];
    const release = deferred<void>();
    for (const index of started.keys()) {
      const slow = operation("slow", () => {
        started[index]! += 1;
        return release.promise;
      });
      await serve(await connect({ prefix: "spread" }), slow);
    }
    const calls = await connect({ prefix: "spread" });

    const all = Promise.all(Array.from({ length: 60 }, () => calls.call("test.slow", {})));
    await vi.waitFor(() => expect(started.reduce((sum, count) => sum + count)).toBe(60));
    release.resolve();
    await all;

    expect(Math.max(...started), `spread ${started}`).toBeLessThanOrEqual(40);
    expect(Math.min(...started), `spread ${started}`).toBeGreaterThanOrEqual(5);
  });
});
