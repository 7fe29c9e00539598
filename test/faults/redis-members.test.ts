import { createClient } from "@redis/client";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { buildCallHandler, PendingRequestMap, peerSource } from "../../src/call/index.ts";
import { deferred, operation } from "../../src/call/testing.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { createRedisTransport, type RedisTransportOptions } from "../../src/transport/redis/index.ts";
import { startProxy } from "../services/proxy.ts";
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
  const echo = operation("echo", (input) => input);

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
    const worker = await connect({ prefix: "forged" });
    await serve(worker, hang);
    const calls = await connect({ prefix: "forged" });
    const call = outcome(calls.call("test.hang", {}, { deadline: Date.now() + 200_000 }));
    const requestId = await started.promise;

    const channels = await send<string[]>("PUBSUB", "CHANNELS", "forged:0:inbox:*");
    const abort = JSON.stringify({ type: "call.aborted", requestId });
    for (const address of channels) await send("PUBLISH", "forged:0:abort:test.hang", `@${address}\n${abort}`);

    await stopped.promise;
    expect(await call).toMatchObject({ code: "ABORTED", mayHaveRun: true });
  });

  test("a key that another program has taken stops one operation only, until it is removed", async () => {
    const send = await inspect();
    const calls = await connect({ prefix: "taken", heartbeat: 1_000 });
    const worker = await connect({ prefix: "taken", heartbeat: 1_000 });
    await send("SET", "taken:call:test.other", "mine");
    await serve(
      worker,
      echo,
      operation("other", () => "other"),
      operation("third", () => 3),
    );

    expect((await calls.call("test.echo", 1)).data).toBe(1);
    await send("DEL", "taken:call:test.third");
    await send("SET", "taken:call:test.third", "mine");
    expect((await vi.waitFor(() => calls.call("test.echo", 2, { deadline: Date.now() + 2_000 }))).data).toBe(2);
    expect(await outcome(calls.call("test.third", {}))).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });

    await send("DEL", "taken:call:test.third", "taken:call:test.other");
    await vi.waitFor(async () => expect((await calls.call("test.third", {})).data).toBe(3));
    await vi.waitFor(async () => expect((await calls.call("test.other", {})).data).toBe("other"));
  });

  test("a worker that was cut off leaves no consumer", async () => {
    const send = await inspect();
    const proxy = await startProxy(service!.port);
    const options = { prefix: "cut", heartbeat: 1_000 };
    const lost = await connect({ ...options, url: `redis://127.0.0.1:${proxy.port}` });
    onTestFinished(() => proxy.close());
    await serve(lost, echo);
    await serve(await connect(options), echo);
    const countConsumers = async () =>
      (await send<unknown[]>("XINFO", "CONSUMERS", "cut:call:test.echo", "operations")).length;
    expect(await countConsumers()).toBe(2);

    proxy.blackhole();

    await vi.waitFor(async () => expect(await countConsumers()).toBe(1));
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
