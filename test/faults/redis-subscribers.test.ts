import { afterAll, expect, test, vi } from "vitest";
import { buildCallHandler, PendingRequestMap } from "../../src/call/index.ts";
import { operation } from "../../src/call/testing.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { startRedis } from "../services/redis.ts";
import { connectBroker } from "./brokers.ts";
import { outcome } from "./suite.ts";

// The server cuts off who has more than this waiting, as it does by default at 32 MB.
const service = await startRedis("--client-output-buffer-limit", "pubsub 65536 0 0");
afterAll(() => service?.close());

test.skipIf(service === undefined)(
  "a caller that Redis disconnected because of many responses subscribes again",
  async () => {
    const { port } = service!;
    await using serving = new PendingRequestMap(
      await connectBroker("redis", port, { limits: { maxMessage: 16 * 1024 * 1024 } }),
    );
    const registry = new OperationRegistry();
    registry.register(operation("large", ({ size }) => "x".repeat(size)));
    registry.register(operation("hang", () => new Promise(() => {})));
    await serving.handle(buildCallHandler({ registry, callMap: serving })).ready;
    await using calls = new PendingRequestMap(
      await connectBroker("redis", port, { limits: { maxMessage: 16 * 1024 * 1024 } }),
    );
    await calls.call("test.large", { size: 1 });
    const waiting = Array.from({ length: 20 }, () => outcome(calls.call("test.hang", {})));

    const cut = await outcome(calls.call("test.large", { size: 5_000_000 }));
    const errors = await Promise.all(waiting);
    await vi.waitFor(() => calls.call("test.large", { size: 10 }, { deadline: Date.now() + 2_000 }));
    const small = await Promise.all(Array.from({ length: 100 }, (_, size) => calls.call("test.large", { size })));

    expect(cut).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
    expect(new Set(errors.map(({ code, mayHaveRun }) => `${code} ${mayHaveRun}`))).toEqual(
      new Set(["UNAVAILABLE true"]),
    );
    expect(small.map(({ data }) => (data as string).length)).toEqual(Array.from({ length: 100 }, (_, size) => size));
  },
);
