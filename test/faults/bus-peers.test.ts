import { afterAll, describe, expect, test, vi } from "vitest";
import { buildCallHandler, PendingRequestMap } from "../../src/call/index.ts";
import { describeSpec, operation, requested, responded } from "../../src/call/testing.ts";
import { CallError } from "../../src/operation/index.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import type { FollowUp, PeerEvent, Reply, Transport } from "../../src/transport/transport.ts";
import { startNATS } from "../services/nats.ts";
import { startProxy } from "../services/proxy.ts";
import { startRedis } from "../services/redis.ts";
import { connectBroker } from "./brokers.ts";
import { joinAsStranger } from "./stranger.ts";
import { outcome } from "./suite.ts";

const [nats, redis] = await Promise.all([startNATS(), startRedis()]);
afterAll(async () => {
  await Promise.all([nats?.close(), redis?.close()]);
});

/** Keeps beats out of a test. */
const heartbeat = 60_000;

for (const [broker, service] of [["nats", nats] as const, ["redis", redis] as const]) {
  describe.skipIf(service === undefined)(`peers on ${broker}`, () => {
    const port = service?.port ?? 0;
    /** Serves `test.held`: the test records the requests and replies to them. */
    const hold = async (transport: Transport) => {
      const [replies, followUps]: [Reply[], FollowUp[]] = [[], []];
      const stop = await transport.serve(["test.held"], (_frame, reply) => {
        replies.push(reply);
        return (frame) => followUps.push(frame);
      });
      return { replies, followUps, stop };
    };

    test("a subscription whose worker lost its link fails instead of waiting forever", async () => {
      await using proxy = await startProxy(port);
      const worker = await connectBroker(broker, proxy.port, { heartbeat: 1_000 });
      const caller = await connectBroker(broker, port, { heartbeat: 1_000 });
      const { replies, followUps } = await hold(worker);
      const frame = { ...requested("test.held", {}), credit: 2 };
      const heard: unknown[] = [];
      caller.request("test.held", frame, (reply) => {
        heard.push(reply.type === "call.error" ? [reply.code, reply.mayHaveRun] : reply.type);
      });
      await vi.waitFor(() => expect(replies).toHaveLength(1));
      await replies[0]!({ ...responded(frame, "first"), seq: 0 } as never);
      await vi.waitFor(() => expect(heard).toEqual(["call.responded"]));

      proxy.blackhole();
      proxy.reset();
      await vi.waitFor(() => expect(isConnected(worker)).toBe(false));
      void replies[0]!({ ...responded(frame, "lost"), seq: 1 } as never);
      proxy.heal();
      proxy.reset();

      await vi.waitFor(() => expect(heard).toEqual(["call.responded", ["UNAVAILABLE", true]]));
      expect(followUps.map(({ type }) => type)).toEqual(["call.aborted"]);
      await Promise.all([worker.close(), caller.close()]);
    });

    test("a handler is notified that its call was cancelled, also when its worker accepts no more calls", async () => {
      const worker = await connectBroker(broker, port, { heartbeat });
      const caller = await connectBroker(broker, port, { heartbeat });
      const { replies, followUps, stop } = await hold(worker);
      const frame = requested("test.held", {});
      const tell = await caller.request("test.held", frame, () => {});
      await vi.waitFor(() => expect(replies).toHaveLength(1));

      await stop();
      tell({ type: "call.aborted", requestId: frame.requestId });

      await vi.waitFor(() => expect(followUps.map(({ type }) => type)).toEqual(["call.aborted"]));
      await Promise.all([worker.close(), caller.close()]);
    });

    test("operations are announced in messages that respect the limit of the peer", async () => {
      const limits = { maxMessage: 8_000 };
      const worker = await connectBroker(broker, port, { heartbeat, limits });
      const hub = await connectBroker(broker, port, { heartbeat });
      const specs = Array.from({ length: 100 }, (_, n) => describeSpec(operation(`n${n}`, () => n)));
      const names: string[] = [];
      const note = (event: PeerEvent) => {
        if (event.type === "peer.announced") names.push(...event.specs.map(({ name }) => name));
      };
      hub.watchPeers(note);

      await worker.announce(specs);

      await vi.waitFor(() => expect(names.slice(0, 100)).toEqual(specs.map(({ name }) => name)));
      await Promise.all([worker.close(), hub.close()]);
    });

    test("a message whose sender is endless is dropped and counted", async () => {
      const worker = await connectBroker(broker, port, { heartbeat });
      await hold(worker);
      await using stranger = await joinAsStranger(broker, port);
      const abort = JSON.stringify({ type: "call.aborted", requestId: "r" });

      await stranger.abort("test.held", `@${"x".repeat(100_000)}\n${abort}`);

      await vi.waitFor(() => expect(worker.dropped).toBe(1));
      await worker.close();
    });

    test("errors and progress above the limit do not leave a call without an end", async () => {
      const limits = { maxMessage: 10_000 };
      const details = { text: "x".repeat(20_000) };
      await using calls = new PendingRequestMap(await connectBroker(broker, port, { heartbeat }));
      await using serving = new PendingRequestMap(await connectBroker(broker, port, { heartbeat, limits }));
      const registry = new OperationRegistry();
      const fail = () => Promise.reject(new CallError("TOO_MUCH", "It was too much", details));
      registry.register(operation("fail", fail));
      registry.register(
        operation("progress", (_input, context) => {
          context.progress({ progress: 1, message: details.text });
          return "done";
        }),
      );
      await serving.handle(buildCallHandler({ registry, callMap: serving })).ready;

      const error = await outcome(calls.call("test.fail", {}));
      const { data } = await calls.call("test.progress", {}, { onProgress: () => {} });

      expect(error).toMatchObject({ code: "TOO_MUCH", message: "It was too much", mayHaveRun: true });
      expect(data).toBe("done");
    });
  });
}

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
