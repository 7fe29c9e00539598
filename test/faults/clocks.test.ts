import { fork } from "node:child_process";
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { PendingRequestMap } from "../../src/call/index.ts";
import { bundleProgram } from "../../src/transport/testing.ts";
import { createWebSocketTransport } from "../../src/transport/websocket/index.ts";
import { startNATS } from "../services/nats.ts";
import { startRedis } from "../services/redis.ts";
import { connectBroker } from "./brokers.ts";
import { type Child, startWorker } from "./child.ts";

const [nats, redis] = await Promise.all([startNATS(), startRedis()]);
afterEach(() => void vi.useRealTimers());
afterAll(async () => {
  await Promise.all([nats?.close(), redis?.close()]);
});

const minute = 60_000;
const hour = 60 * minute;
const preload = { NODE_OPTIONS: `--import ${new URL("shift-clock.mjs", import.meta.url).href}` };

for (const [broker, service] of [["nats", nats] as const, ["redis", redis] as const]) {
  describe.skipIf(service === undefined)(`clocks on ${broker}`, () => {
    const port = service?.port ?? 0;
    let worker: Child;
    beforeAll(async () => {
      worker = await startWorker(broker, port, { heartbeat: 2_000, env: preload });
    });
    afterAll(() => worker[Symbol.asyncDispose]());

    let count = 0;
    /**
     * A call that hangs until its time is up. Gives how it ended, once both sides know, and whether one of them was much
     * too early. On a busy machine the time may be up before the worker begins: then it gets more.
     */
    const hang = async (calls: PendingRequestMap) => {
      for (let timeout = 1_500; ; timeout *= 2) {
        count += 1;
        const n = count;
        const asked = performance.now();
        let endedAt: number | undefined;
        const ended = calls.call("work.hang", { n }, { deadline: Date.now() + timeout }).catch(({ code }) => {
          endedAt = performance.now();
          return code as string;
        });
        const hasSaid = (kind: string) =>
          worker.said.some((it) => it.kind === kind && it.operation === "hang" && it.n === n);
        await vi.waitUntil(() => hasSaid("started") || endedAt !== undefined);
        if (!hasSaid("started")) continue;
        const stopped = vi.waitUntil(() => hasSaid("stopped")).then(() => performance.now());
        const isEarly = (at: number) => at - asked < timeout / 2;
        return async () => ({ code: await ended, wasEarly: isEarly(endedAt!) || isEarly(await stopped) });
      }
    };
    const inTime = { code: "TIMEOUT", wasEarly: false };
    const echo = async (calls: PendingRequestMap) => {
      const { data } = await calls.call<{ n: number }>("work.echo", { n: 7 }, { deadline: Date.now() + 30_000 });
      return data.n;
    };

    test("a worker whose clock is off by ten minutes behaves like others", async () => {
      await using calls = new PendingRequestMap(await connectBroker(broker, port));
      const seen: unknown[] = [];

      for (const shiftClock of [-10 * minute, 20 * minute]) {
        worker.tell({ shiftClock });
        const ending = await hang(calls);
        const values: unknown[] = [];
        for await (const { data } of calls.subscribe("work.count", { n: 3 })) {
          if (values.push(data) === 3) break;
        }
        seen.push([await echo(calls), values, await ending()]);
      }

      const asUsual = [7, [0, 1, 2], inTime];
      expect(seen).toEqual([asUsual, asUsual]);
    });

    test("a worker whose clock jumps by an hour, forward and back, is not affected", async () => {
      await using calls = new PendingRequestMap(await connectBroker(broker, port));
      const ending = await hang(calls);

      worker.tell({ shiftClock: hour });
      const first = await echo(calls);
      worker.tell({ shiftClock: -2 * hour });
      const second = await echo(calls);

      expect([first, second, await ending()]).toEqual([7, 7, inTime]);
    });

    test("a caller whose clock jumps by an hour, forward and back, is not affected", async () => {
      await using calls = new PendingRequestMap(await connectBroker(broker, port));
      const ending = await hang(calls);

      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hour });
      const first = await echo(calls);
      vi.setSystemTime(Date.now() - 2 * hour);
      const second = await echo(calls);

      expect([first, second, await ending()]).toEqual([7, 7, inTime]);
    });
  });
}

test("a WebSocket server whose clock is off by ten minutes, and jumps, behaves like others", async () => {
  const program = await bundleProgram(new URL("../support/websocket-server.ts", import.meta.url));
  const env = { ...process.env, ...preload, CLOCK_SHIFT: String(-10 * minute) };
  const child = fork(program, ["0"], { execArgv: [], env });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  await using calls = new PendingRequestMap(await createWebSocketTransport(`ws://127.0.0.1:${port}/`));
  const soon = () => ({ deadline: Date.now() + 30_000 });

  const ended = calls.call("test.hang", {}, { deadline: Date.now() + 800 }).catch(({ code }) => code);
  const before = await calls.call("test.echo", 7, soon());
  child.send({ shiftClock: 20 * minute });
  const after = await calls.call("test.echo", 8, soon());

  expect([before.data, after.data, await ended]).toEqual([7, 8, "TIMEOUT"]);
});
