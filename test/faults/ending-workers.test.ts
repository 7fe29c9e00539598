import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect, test, vi } from "vitest";
import { PendingRequestMap } from "../../src/call/index.ts";
import type { CallError } from "../../src/operation/index.ts";
import { startNATS } from "../services/nats.ts";
import { startRedis } from "../services/redis.ts";
import { connectBroker } from "./brokers.ts";
import { type Child, startWorker } from "./child.ts";
import { outcome } from "./suite.ts";

const [nats, redis] = await Promise.all([startNATS(), startRedis()]);
afterAll(async () => {
  await Promise.all([nats?.close(), redis?.close()]);
});

const program = new URL("draining-worker.ts", import.meta.url);

for (const [broker, service] of [["nats", nats] as const, ["redis", redis] as const]) {
  describe.skipIf(service === undefined)(`workers that end on ${broker}`, () => {
    const port = service?.port ?? 0;

    test("under load, SIGTERM: running calls finish, new calls go to other workers, and it exits with 0", async () => {
      const starting = [startWorker(broker, port, { program }), startWorker(broker, port, { program })] as const;
      await using first = await starting[0];
      await using second = await starting[1];
      await using calls = new PendingRequestMap(await connectBroker(broker, port));
      const answers: Array<Promise<unknown>> = [];
      const send = (ms: number) => {
        const n = answers.length;
        answers.push(calls.call("test.slow", { n, ms }).then(({ data }) => data));
      };
      // The caller cannot choose which of them runs a call.
      while (starts(first).length === 0) {
        for (let n = 0; n < 50; n++) send(500);
        await vi.waitFor(() => expect(starts(first).length + starts(second).length).toBe(answers.length));
      }

      first.kill("SIGTERM");
      const exited = first.exited();
      let hasExited = false;
      void exited.then(() => {
        hasExited = true;
      });
      do {
        send(5);
        await delay(5);
      } while (!hasExited);
      const code = await exited;

      const all = Array.from(answers, (_, n) => n);
      expect(await Promise.all(answers)).toEqual(all);
      expect(code).toBe(0);
      await vi.waitFor(() => expect([...starts(first), ...starts(second)].sort((a, b) => a - b)).toEqual(all));
    });

    test("SIGTERM ends the subscriptions of a worker with UNAVAILABLE, and it exits with 0", async () => {
      await using worker = await startWorker(broker, port, { program });
      await using calls = new PendingRequestMap(await connectBroker(broker, port));
      const values = calls.subscribe("test.endless", {});
      await values.next();
      const end = outcome(
        (async () => {
          for await (const _ of values);
        })(),
      );

      worker.kill("SIGTERM");

      expect(await end).toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: true });
      expect(await worker.exited()).toBe(0);
    });

    test("a second SIGTERM ends a worker that still drains", async () => {
      await using worker = await startWorker(broker, port, { program });
      await using calls = new PendingRequestMap(await connectBroker(broker, port, { heartbeat: 500 }));
      const call = outcome(calls.call("test.slow", { n: 1, ms: 60_000 }, { deadline: Date.now() + 60_000 }));
      await worker.heard("started");

      worker.kill("SIGTERM");
      await worker.heard("stopped");
      worker.kill("SIGTERM");

      expect(await worker.exited()).toBeNull();
      expect(await call).toMatchObject({ mayHaveRun: true });
    });

    test("a call that a killed worker had started is not started by another worker", async () => {
      const heartbeat = 1_000;
      const starting = [startWorker(broker, port, { heartbeat }), startWorker(broker, port, { heartbeat })] as const;
      await using killed = await starting[0];
      await using other = await starting[1];
      await using calls = new PendingRequestMap(await connectBroker(broker, port, { heartbeat }));
      const controller = new AbortController();
      const options = { deadline: Date.now() + 60_000, signal: controller.signal };
      const pending: Array<Promise<CallError>> = [];
      // The caller cannot choose which of them runs a call.
      while (starts(killed).length === 0) {
        for (let n = 0; n < 40; n++) pending.push(outcome(calls.call("work.hang", { n: pending.length }, options)));
        await vi.waitFor(() => expect(starts(killed).length + starts(other).length).toBe(pending.length));
      }
      const begun = starts(killed);

      killed.kill("SIGKILL");
      const lost = await Promise.all(begun.map((n) => pending[n]!));
      controller.abort();
      await Promise.all(pending);
      const { data } = await calls.call<{ pid: number }>("work.echo", { n: pending.length });

      expect(lost).toMatchObject(lost.map(() => ({ code: "UNAVAILABLE", mayHaveRun: true })));
      expect(starts(other).filter((n) => begun.includes(n))).toEqual([]);
      expect(data.pid).toBe(other.pid);
    });
  });
}

/** The numbers of the calls that a worker has started. */
function starts({ said }: Child): number[] {
  return said.flatMap(({ kind, n }) => (kind === "started" && n !== undefined ? [n] : []));
}
