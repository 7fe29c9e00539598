import { afterAll, afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { buildCallHandler, PendingRequestMap, peerSource } from "../../src/call/index.ts";
import { operation } from "../../src/call/testing.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { startNATS } from "../services/nats.ts";
import { startRedis } from "../services/redis.ts";
import { type BrokerName, connectBroker } from "./brokers.ts";
import { outcome } from "./suite.ts";

const brokers = { nats: await startNATS(), redis: await startRedis() };
afterEach(async () => {
  for (const service of Object.values(brokers)) if (service?.pid === undefined) await service?.start();
});
afterAll(async () => {
  for (const service of Object.values(brokers)) await service?.close();
});

const away = { code: "UNAVAILABLE", retryable: true, mayHaveRun: false };

describe.each(["nats", "redis"] as const)("restarts on %s", (broker: BrokerName) => {
  const service = brokers[broker];
  const heartbeat = 1_000;
  const connect = async () => {
    const map = new PendingRequestMap(await connectBroker(broker, service!.port, { heartbeat }));
    onTestFinished(() => map.close());
    return map;
  };
  const handle = (map: PendingRequestMap) => {
    const registry = new OperationRegistry();
    registry.register(operation("echo", (input) => input));
    return map.handle(buildCallHandler({ registry, callMap: map }));
  };

  test.skipIf(service === undefined)(
    "a handler that is added while the broker is away serves when it is back",
    async () => {
      const worker = await connect();
      const calls = await connect();
      await service!.kill();
      await vi.waitFor(async () =>
        expect(await outcome(calls.call("test.echo", 1))).toMatchObject({ code: "UNAVAILABLE" }),
      );

      const { ready } = handle(worker);
      await service!.start();

      await ready;
      const { data } = await vi.waitFor(() => calls.call("test.echo", 1, { deadline: Date.now() + 2_000 }));
      expect(data).toBe(1);
    },
  );

  test.skipIf(service === undefined)("a handler that is stopped before the broker is back is not served", async () => {
    const worker = await connect();
    await service!.kill();
    await vi.waitFor(async () =>
      expect(await outcome(worker.call("test.echo", 1))).toMatchObject({ code: "UNAVAILABLE" }),
    );

    const stop = handle(worker);
    await stop();

    expect(await outcome(stop.ready)).toMatchObject(away);
  });

  test.skipIf(service === undefined)(
    "an operation is unavailable, not unknown, while its worker restarts",
    async () => {
      const worker = await connect();
      await handle(worker).ready;
      const calls = await connect();
      const hub = new OperationRegistry();
      onTestFinished(() => hub.close());
      await hub.follow(peerSource(calls));
      await vi.waitFor(() => hub.execute("test.echo", 1));

      await worker.close();

      expect(await outcome(calls.call("test.echo", 1))).toMatchObject(away);
      await vi.waitFor(() => expect(hub.has("test.echo")).toBe(false));
      expect(await outcome(hub.execute("test.echo", 1))).toMatchObject(away);
      const again = await connect();
      await handle(again).ready;
      expect((await calls.call("test.echo", 2)).data).toBe(2);
      await vi.waitFor(async () => expect((await hub.execute("test.echo", 3)).data).toBe(3));
    },
  );

  test.skipIf(service === undefined)("an operation that stays away is not found after three heartbeats", async () => {
    const worker = await connect();
    await handle(worker).ready;
    const calls = await connect();
    await calls.call("test.echo", 1);

    await worker.close();

    await vi.waitFor(
      async () => expect(await outcome(calls.call("test.echo", 1))).toMatchObject({ code: "OPERATION_NOT_FOUND" }),
      { interval: 250 },
    );
  });

  test.skipIf(service === undefined)("no operation is unknown right after the broker is back", async () => {
    const calls = await connect();
    expect(await outcome(calls.call("test.other", 1))).toMatchObject({ code: "OPERATION_NOT_FOUND" });
    await service!.kill();
    const codes = new Set<string>();
    const ask = async () => {
      const error = await outcome(calls.call("test.other", 1, { deadline: Date.now() + 2_000 }));
      codes.add(error.message.includes(" is not available at the moment.") ? "known to be incomplete" : error.code);
      return error.code;
    };
    await vi.waitFor(async () => expect(await ask()).toBe("UNAVAILABLE"));
    await service!.start();
    await vi.waitFor(async () => expect(await ask()).toBe("OPERATION_NOT_FOUND"), { interval: 20 });

    expect([...codes]).toEqual(["UNAVAILABLE", "known to be incomplete", "OPERATION_NOT_FOUND"]);
  });
});
