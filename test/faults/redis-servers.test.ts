import { createClient } from "@redis/client";
import { afterAll, describe, expect, test, vi } from "vitest";
import { buildCallHandler, PendingRequestMap } from "../../src/call/index.ts";
import { operation, requested, responded } from "../../src/call/testing.ts";
import type { IOperationDefinition } from "../../src/index.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { createRedisTransport, type RedisTransportOptions } from "../../src/transport/redis/index.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { startProxy } from "../services/proxy.ts";
import { startRedis } from "../services/redis.ts";
import { outcome } from "./suite.ts";

const service = await startRedis();
afterAll(() => service?.close());

describe.skipIf(service === undefined)("Redis servers that are emptied, cut off and left", () => {
  const port = service?.port ?? 0;
  const url = `redis://127.0.0.1:${port}`;
  const ask = async (options: RedisTransportOptions = {}) =>
    new PendingRequestMap(await createRedisTransport({ url, ...options }));
  const serve = async (definitions: IOperationDefinition[], options: RedisTransportOptions = {}) => {
    const map = await ask(options);
    const registry = new OperationRegistry();
    registry.registerAll(definitions);
    const stop = map.handle(buildCallHandler({ registry, callMap: map }));
    await stop.ready;
    return { map, stop, [Symbol.asyncDispose]: () => map.close() };
  };
  const inspect = async () => {
    const client = createClient({ url, RESP: 2, maintNotifications: "disabled" });
    await client.connect();
    const send = <T = unknown>(...args: string[]) => client.sendCommand(args) as unknown as Promise<T>;
    return {
      send,
      countClients: async () => (await send<string>("CLIENT", "LIST")).trim().split("\n").length,
      [Symbol.dispose]: () => client.destroy(),
    };
  };
  /** A transport whose link to the server can be cut. */
  const connectThroughProxy = async (options: RedisTransportOptions = {}) => {
    const proxy = await startProxy(port);
    const transport = await createRedisTransport({ url: `redis://127.0.0.1:${proxy.port}`, ...options });
    return {
      proxy,
      transport,
      cut: async () => {
        proxy.blackhole();
        proxy.reset();
        await vi.waitFor(() => expect(isConnected(transport)).toBe(false));
      },
      heal: async () => {
        proxy.heal();
        proxy.reset();
        await vi.waitFor(() => expect(isConnected(transport)).toBe(true));
      },
      async [Symbol.asyncDispose]() {
        proxy.heal();
        await transport.close();
        await proxy.close();
      },
    };
  };

  test("a worker continues after its server was emptied", async () => {
    using redis = await inspect();
    await using _ = await serve([operation("once", () => 1)], { heartbeat: 1_000 });
    await using known = await ask();
    const call = async (calls: PendingRequestMap) => (await calls.call("test.once", {})).data;
    const before = await call(known);

    await redis.send("FLUSHALL");

    expect([before, await call(known)]).toEqual([1, 1]);
    await using later = await ask();
    expect(await vi.waitFor(() => call(later))).toBe(1);
  });

  test("callers receive an error of a server that refuses writes, and workers continue when it accepts them again", async () => {
    using redis = await inspect();
    await using _ = await serve([operation("echo", (input) => input)], { heartbeat: 1_000 });
    await using calls = await ask();
    const echo = async () => (await calls.call("test.echo", 1, { deadline: Date.now() + 3_000 })).data;

    await redis.send("REPLICAOF", "127.0.0.1", "1");
    const readOnly = await outcome(calls.call("test.echo", 1));
    await redis.send("REPLICAOF", "NO", "ONE");
    const afterwards = await vi.waitFor(echo);
    await redis.send("CONFIG", "SET", "maxmemory", "1");
    const full = await outcome(calls.call("test.echo", 1));
    await redis.send("CONFIG", "SET", "maxmemory", "0");

    expect([readOnly, full]).toMatchObject([
      { code: "UNAVAILABLE", mayHaveRun: false },
      { code: "UNAVAILABLE", mayHaveRun: false },
    ]);
    expect([afterwards, await vi.waitFor(echo)]).toEqual([1, 1]);
  });

  test("operations that could not be served while the link was cut are served afterwards", async () => {
    await using worker = await connectThroughProxy({ heartbeat: 1_000 });
    await using calls = await ask();
    const onRequest: Parameters<Transport["serve"]>[1] = (frame, reply) => {
      void reply(responded(frame, "served"));
      return () => {};
    };

    await worker.cut();
    const error = await outcome(worker.transport.serve(["test.later"], onRequest));
    await worker.heal();
    await vi.waitFor(() => worker.transport.serve(["test.later"], onRequest));

    expect(error).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
    expect((await vi.waitFor(() => calls.call("test.later", {}, { deadline: Date.now() + 3_000 }))).data).toBe(
      "served",
    );
  });

  test("an operation that a worker withdraws while its link is cut is not found afterwards", async () => {
    await using worker = await connectThroughProxy();
    await using calls = await ask();
    const stop = await worker.transport.serve(["test.stopped"], () => () => {});
    await worker.transport.serve(["test.other"], () => () => {});

    await worker.cut();
    await stop();
    await worker.heal();

    await vi.waitFor(async () => {
      const error = await outcome(calls.call("test.stopped", {}, { deadline: Date.now() + 2_000 }));
      expect(error).toMatchObject({ code: "OPERATION_NOT_FOUND", mayHaveRun: false });
    });
  });

  test("closing while serving begins leaves no connection, list or heartbeat", async () => {
    using redis = await inspect();
    const before = await redis.countClients();

    for (let turns = 0; turns < 12; turns++) {
      const transport = await createRedisTransport({ url, prefix: "closing" });
      const serving = transport.serve(["test.closing"], () => () => {}).catch(() => {});
      for (let n = 0; n < turns; n++) await new Promise((resolve) => setImmediate(resolve));
      await transport.close();
      await serving;
    }

    await vi.waitFor(async () => expect(await redis.countClients()).toBe(before));
    expect(await redis.send("KEYS", "closing:*")).toEqual([]);
  });

  test("closing does not wait for a server that does not respond", async () => {
    await using worker = await connectThroughProxy();
    const map = new PendingRequestMap(worker.transport);
    const registry = new OperationRegistry();
    registry.register({ ...operation("echo", (input) => input), idempotent: true });
    await map.handle(buildCallHandler({ registry, callMap: map })).ready;
    const begun = performance.now();

    worker.proxy.blackhole();
    await map.close();

    expect(performance.now() - begun).toBeLessThan(15_000); // the server is given up after as much
  });
});

/** Transports refuse requests immediately while they are not connected. */
function isConnected(transport: Transport): boolean {
  const frame = requested("test.nothing", {});
  try {
    void transport.request(frame.operationId, frame, () => {});
    return true;
  } catch {
    return false;
  }
}
