import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { PendingRequestMap } from "../../src/call/index.ts";
import { bundleProgram } from "../../src/transport/testing.ts";
import { createWorkerTransport } from "../../src/transport/worker/index.ts";
import { startNATS } from "../services/nats.ts";
import { startRedis } from "../services/redis.ts";
import { connectBroker } from "./brokers.ts";
import { type Child, startWorker } from "./child.ts";

const [nats, redis] = await Promise.all([startNATS(), startRedis()]);
afterAll(async () => {
  await Promise.all([nats?.close(), redis?.close()]);
});

/** Number of calls that run out of time, the first ones. */
const timedOut = 20;

/** Calls of which some run out of time and some are cancelled while no worker can run them. Returns how they ended. */
async function callMeanwhile(calls: PendingRequestMap, first: number): Promise<string[]> {
  const controller = new AbortController();
  const call = (n: number, options: object) =>
    calls.call("work.echo", { n }, options).then(
      () => "answered",
      ({ code }) => code as string,
    );
  const short = Array.from({ length: timedOut }, (_, n) => call(first + n, { deadline: Date.now() + 250 }));
  const givenUp = Array.from({ length: 20 }, (_, n) => call(first + 100 + n, { signal: controller.signal }));
  const late = await Promise.all(short);
  controller.abort();
  return [...new Set([...late, ...(await Promise.all(givenUp))])];
}

/** Resolves when calls succeed again. */
async function untilAnswered(calls: PendingRequestMap, n: number): Promise<void> {
  await vi.waitFor(() => calls.call("work.echo", { n }, { deadline: Date.now() + 2_000 }));
}

/** The numbers of the calls that were started, as soon as they contain the last completed one. */
async function startsOf({ said }: Child, last: number): Promise<number[]> {
  const starts = () => said.flatMap(({ kind, n = -1 }) => (kind === "started" ? [n] : []));
  await vi.waitFor(() => expect(starts()).toContain(last));
  return starts();
}

/** Resolves when all threads of a process that received SIGSTOP are paused. */
async function untilStopped(pid: number): Promise<void> {
  const folder = `/proc/${pid}/task`;
  const isStopped = (thread: string) => /\) T /.test(readFileSync(`${folder}/${thread}/stat`, "utf8"));
  await vi.waitUntil(() => !existsSync(folder) || readdirSync(folder).every(isStopped));
}

for (const [broker, service] of [["nats", nats] as const, ["redis", redis] as const]) {
  describe.skipIf(service === undefined)(`standing still on ${broker}`, () => {
    const port = service?.port ?? 0;
    let worker: Child;
    beforeAll(async () => {
      worker = await startWorker(broker, port, { heartbeat: 2_000 });
    });
    afterAll(() => worker[Symbol.asyncDispose]());

    let round = 0;
    /** Stops a process for a while, and returns the outcomes of the calls in between and of those started late. */
    const stop = async (pid: number, length: number) => {
      await using calls = new PendingRequestMap(await connectBroker(broker, port));
      round += 1_000;
      const [before, after] = [round, round + 999];
      await untilAnswered(calls, before);
      process.kill(pid, "SIGSTOP");
      await untilStopped(pid);
      const standing = delay(length);
      const endings = await callMeanwhile(calls, before + 1);
      await standing;
      process.kill(pid, "SIGCONT");
      await untilAnswered(calls, after);
      const starts = await startsOf(worker, after);
      return { endings, wrong: starts.filter((n) => n > before && n < after) };
    };

    test("a worker does not start calls whose time ended while it was paused", async () => {
      const { endings, wrong } = await stop(worker.pid, 1_500);

      expect(endings).toEqual(["TIMEOUT", "ABORTED"]);
      // NATS delivers a request to a worker that is paused, which may start it before it reads the abort.
      expect(wrong.filter((n) => broker === "redis" || n % 1_000 <= timedOut)).toEqual([]);
    });
  });
}

test("a worker thread does not start calls that ended while it was busy", async () => {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const program = await bundleProgram(new URL("thread.ts", import.meta.url));
  const worker = new Worker(program, { workerData: { gate } });
  onTestFinished(() => void worker.terminate());
  const starts: number[] = [];
  worker.on("message", (message) => void (typeof message === "object" && starts.push(message.n)));
  const calls = new PendingRequestMap(createWorkerTransport(worker));
  await untilAnswered(calls, 0);

  const busy = calls.call("work.block", {});
  const endings = await callMeanwhile(calls, 1);
  Atomics.store(gate, 0, 1);
  Atomics.notify(gate, 0);
  await busy;
  await untilAnswered(calls, 999);

  expect(endings).toEqual(["TIMEOUT", "ABORTED"]);
  expect(new Set(starts)).toEqual(new Set([0, 999]));
  await calls.close();
});
