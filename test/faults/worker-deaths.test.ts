import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { PendingRequestMap } from "../../src/call/index.ts";
import { startNATS } from "../services/nats.ts";
import { startProxy } from "../services/proxy.ts";
import { startRedis } from "../services/redis.ts";
import { connectBroker } from "./brokers.ts";
import { type Child, startWorker } from "./child.ts";
import { outcome } from "./suite.ts";
import { loseWorker } from "./worker-deaths.ts";

const [nats, redis] = await Promise.all([startNATS(), startRedis()]);
afterAll(async () => {
  await Promise.all([nats?.close(), redis?.close()]);
});

const heartbeat = 500;
/** In ms, of calls. It is long, so that none ends for another reason than the loss of its worker. */
const timeout = 60_000;
/** Callers that must reach one worker, and no other. */
let prefixes = 0;

for (const [broker, service] of [["nats", nats] as const, ["redis", redis] as const]) {
  describe.skipIf(service === undefined)(`workers that are lost on ${broker}`, { concurrent: true }, () => {
    const port = service?.port ?? 0;
    /** A separate prefix, with a caller and a function that starts workers. */
    const open = async (beat = heartbeat) => {
      prefixes += 1;
      const prefix = `lost-${prefixes}`;
      const calls = new PendingRequestMap(await connectBroker(broker, port, { heartbeat: beat, prefix }));
      const start = (env: NodeJS.ProcessEnv = {}) =>
        startWorker(broker, port, { heartbeat: beat, env: { PREFIX: prefix, ...env } });
      return { prefix, calls, start, [Symbol.asyncDispose]: () => calls.close() };
    };
    const soon = () => ({ deadline: Date.now() + timeout });

    test.each(["SIGKILL", "SIGSTOP"] as const)(
      "calls of 60 s fail after %s of their worker, whatever their age is",
      async (signal) => {
        const ages = [0, 200, 600, 1_100, 2_300];

        const notices = await loseWorker({ broker, port, heartbeat, ages, signal });

        const [last, ...others] = notices.reverse();
        expect(others).toMatchObject(others.map(() => ({ code: "UNAVAILABLE", mayHaveRun: true })));
        // The last request may reach the broker after the loss of the worker.
        expect(["UNAVAILABLE", "OPERATION_NOT_FOUND"]).toContain(last!.code);
      },
    );

    test("a call fails after its worker was cut off from the broker", async () => {
      await using proxy = await startProxy(port);
      await using bus = await open();
      await using worker = await startWorker(broker, proxy.port, { heartbeat, env: { PREFIX: bus.prefix } });
      const call = outcome(bus.calls.call("work.hang", { n: 1 }, soon()));
      await worker.heard("started");

      proxy.blackhole();

      expect(await call).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
    });

    test("a worker that is paused for half a heartbeat loses no call", async () => {
      const beat = 2_000;
      await using bus = await open(beat);
      await using worker = await bus.start();
      const failed: string[] = [];
      const call = (n: number) =>
        void bus.calls.call("work.hang", { n }, soon()).catch(({ code }) => failed.push(code));

      for (let n = 0; n < 12; n++) {
        call(n);
        await delay(beat / 8);
      }
      worker.kill("SIGSTOP");
      await delay(beat / 2);
      worker.kill("SIGCONT");
      await delay(3 * beat);

      expect(failed).toEqual([]);
      expect(starts(worker)).toHaveLength(12);
    });
  });
}

// After the tests above, because it blocks their process too.
for (const [broker, service] of [["nats", nats] as const, ["redis", redis] as const]) {
  describe.skipIf(service === undefined)(`callers on ${broker}`, () => {
    test("a caller that was blocked for three heartbeats first reads the messages that arrived meanwhile", async () => {
      const port = service?.port ?? 0;
      const prefix = `blocked-${broker}`;
      await using worker = await startWorker(broker, port, { heartbeat, env: { PREFIX: prefix } });
      await using calls = new PendingRequestMap(await connectBroker(broker, port, { heartbeat, prefix }));
      const failed: string[] = [];

      for (let n = 0; n < 8; n++) {
        void calls.call("work.hang", { n }, { deadline: Date.now() + timeout }).catch(({ code }) => failed.push(code));
        await delay(heartbeat / 4);
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * heartbeat);
      await delay(3 * heartbeat);

      expect(failed).toEqual([]);
      expect(starts(worker)).toHaveLength(8);
    });
  });
}

/** The numbers of the calls that a worker has started. */
function starts({ said }: Child): number[] {
  return said.flatMap(({ kind, n }) => (kind === "started" && n !== undefined ? [n] : []));
}
