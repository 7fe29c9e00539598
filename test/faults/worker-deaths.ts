import { setTimeout as delay } from "node:timers/promises";
import { PendingRequestMap } from "../../src/call/index.ts";
import { isCallError } from "../../src/operation/index.ts";
import { type BrokerName, connectBroker } from "./brokers.ts";
import { startWorker } from "./child.ts";

/** A worker that is lost with its calls. */
export interface WorkerDeath {
  broker: BrokerName;
  port: number;
  /** In ms, of the caller and of the worker. */
  heartbeat: number;
  /** How old the calls are when the worker is lost, in ms: one call each. */
  ages: readonly number[];
  /** `SIGKILL` ends the worker, `SIGSTOP` pauses it permanently, and its connection stays open. */
  signal: "SIGKILL" | "SIGSTOP";
}

/** How one caller was notified. */
export interface Notice {
  /** How old the call was when its worker was lost, in ms. */
  age: number;
  /** From the loss of the worker to the end of the call, in ms. */
  noticed: number;
  code: string;
  mayHaveRun: boolean;
}

/** How long each call may take, in ms. */
export const callTimeout = 60_000;
let count = 0;

/** Makes calls of 60 s that are not idempotent, loses their only worker, and reports how they ended. */
export async function loseWorker(death: WorkerDeath): Promise<Notice[]> {
  const { broker, port, heartbeat, ages, signal } = death;
  count += 1;
  const prefix = `deaths-${process.pid}-${count}`;
  await using worker = await startWorker(broker, port, { heartbeat, env: { PREFIX: prefix } });
  await using calls = new PendingRequestMap(await connectBroker(broker, port, { heartbeat, prefix }));
  const [oldest = 0, ...others] = [...ages].sort((a, b) => b - a);
  const begun = performance.now();
  const until = (age: number) => delay(Math.max(0, begun + oldest - age - performance.now()));

  const pending = [call(calls, 0)];
  for (const [index, age] of others.entries()) {
    await until(age);
    pending.push(call(calls, index + 1));
  }
  await until(0);
  worker.kill(signal);
  const lostAt = performance.now();

  const ends = await Promise.all(pending);
  return ends.map(({ askedAt, endedAt, ...end }) => ({ age: lostAt - askedAt, noticed: endedAt - lostAt, ...end }));
}

async function call(calls: PendingRequestMap, n: number) {
  const askedAt = performance.now();
  const end = await calls.call("work.hang", { n }, { deadline: Date.now() + callTimeout }).then(
    () => ({ code: "answered", mayHaveRun: true }),
    (error) => (isCallError(error) ? error : { code: String(error), mayHaveRun: true }),
  );
  return { askedAt, endedAt: performance.now(), code: end.code, mayHaveRun: end.mayHaveRun };
}
