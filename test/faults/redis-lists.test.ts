import { createClient } from "@redis/client";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { buildCallHandler, PendingRequestMap } from "../../src/call/index.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { createRedisTransport, type RedisTransport } from "../../src/transport/redis/index.ts";
import { startRedis } from "../services/redis.ts";
import { startWorker } from "./child.ts";
import { workOperations } from "./operations.ts";
import { outcome } from "./suite.ts";

/** Of workers that die: others find out within three. */
const heartbeat = 1_000;
const service = await startRedis();
afterAll(() => service?.close());

describe.skipIf(service === undefined)("requests in Redis lists", () => {
  const port = service?.port ?? 0;
  const url = `redis://127.0.0.1:${port}`;
  const open: RedisTransport[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((transport) => transport.close()));
  });
  // Long enough for a busy machine not to count as dead.
  const connect = async (beat = 5_000) => {
    const transport = await createRedisTransport({ url, heartbeat: beat });
    open.push(transport);
    return { transport, map: new PendingRequestMap(transport) };
  };
  const serve = async () => {
    const { transport, map } = await connect();
    const registry = new OperationRegistry();
    registry.registerAll(workOperations());
    const stop = map.handle(buildCallHandler({ registry, callMap: map }));
    await stop.ready;
    return { transport, map, stop };
  };
  const inspect = async () => {
    const client = createClient({ url, RESP: 2, maintNotifications: "disabled" });
    await client.connect();
    return { send: (...args: string[]) => client.sendCommand(args), [Symbol.dispose]: () => client.destroy() };
  };

  test("lists and keys are gone after 4,000 calls, of which a third was aborted", async () => {
    using redis = await inspect();
    const { map: serving } = await serve();
    const { map } = await connect();
    let wrong = 0;
    for (let round = 0; round < 2; round++) {
      const calls = Array.from({ length: 2_000 }, async (_, n) => {
        const controller = new AbortController();
        const call = map.call<{ n: number }>("work.echo", { n }, { signal: controller.signal });
        if (n % 3 === 0) controller.abort();
        const answer = await call.catch((error) => error.code);
        if (answer !== "ABORTED" && answer.data.n !== n) wrong++;
      });
      await Promise.all(calls);
    }

    expect(wrong).toBe(0);
    await map.close();
    await serving.close();
    expect(await redis.send("KEYS", "operations:*")).toEqual([]);
  });

  test("malformed messages are dropped and counted, and responses go to inboxes only", async () => {
    using redis = await inspect();
    const { map: serving, transport } = await serve();
    const { map } = await connect();
    const heard: string[] = [];
    const listener = createClient({ url });
    await listener.connect();
    await listener.subscribe("another-client", (message) => heard.push(message));

    const request = { type: "call.requested", requestId: "a", operationId: "work.echo", input: { n: 1 } };
    const [list] = (await redis.send("SMEMBERS", "operations:sets")) as unknown as [string];
    const frames = ["operations:0:inbox:x\nno JSON", "nothing", `another-client\n${JSON.stringify(request)}`];
    for (const [index, frame] of frames.entries()) {
      await redis.send("SET", `key-${index}`, frame);
      await redis.send("LPUSH", `operations:list:${list}`, `key-${index}`);
    }
    await redis.send("PUBLISH", "operations:0:peers", '{"type":"call.requested"}');
    await redis.send("PUBLISH", `operations:0:list:${list}`, "\u0000");

    await vi.waitFor(() => expect(transport.dropped).toBe(5));
    expect((await map.call("work.echo", { n: 2 })).data).toMatchObject({ n: 2 });
    expect(heard).toEqual([]);
    listener.destroy();
    await map.close();
    await serving.close();
  });

  test("a caller whose subscriptions the server has closed fails pending calls and continues", async () => {
    using redis = await inspect();
    const { map: serving } = await serve();
    const { map } = await connect();
    const pending = outcome(map.call("work.hang", { n: 1 }));
    await map.call("work.echo", { n: 1 });

    await redis.send("CLIENT", "KILL", "TYPE", "pubsub");

    expect(await pending).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
    await vi.waitFor(() => map.call("work.echo", { n: 2 }, { deadline: Date.now() + 2_000 }));
    await map.close();
    await serving.close();
  });

  test("calls to workers that have all died have not run", async () => {
    using redis = await inspect();
    await using worker = await startWorker("redis", port, { heartbeat });
    worker.kill("SIGKILL");
    await worker.exited();
    const { map } = await connect(heartbeat);
    const codes = new Set<string>();

    await vi.waitFor(async () => {
      const error = await outcome(map.call("work.echo", { n: 1 }, { deadline: Date.now() + 60_000 }));
      expect(error.mayHaveRun).toBe(false);
      codes.add(error.code);
      expect(error.code).toBe("OPERATION_NOT_FOUND");
    });

    expect([...codes].filter((code) => code !== "OPERATION_NOT_FOUND" && code !== "UNAVAILABLE")).toEqual([]);
    expect(await redis.send("KEYS", "operations:request:*")).toEqual([]);
    await map.close();
  });

  test("connections use the options of the given client, but not the client itself", async () => {
    const client = createClient({ url });
    const transport = await createRedisTransport({ client });
    const calls = new PendingRequestMap(transport);

    expect(await outcome(calls.call("work.nothing", {}))).toMatchObject({ code: "OPERATION_NOT_FOUND" });
    expect(client.isOpen).toBe(false);
    await calls.close();
  });

  test("a server that is not there is UNAVAILABLE", async () => {
    const error = await outcome(createRedisTransport({ url: "redis://127.0.0.1:1" }));

    expect(error).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
  });
});
