/** `npm run lab -- worker-deaths`: ends workers at random moments of long calls and measures when callers are notified. */

import type { BrokerName } from "../test/faults/brokers.ts";
import { callTimeout, loseWorker, type Notice } from "../test/faults/worker-deaths.ts";
import { startNATS } from "../test/services/nats.ts";
import { startRedis } from "../test/services/redis.ts";
import { readOptions } from "./read-options.ts";

const help = `npm run lab -- worker-deaths [options]

  --kills <n>        how many workers are lost on each broker, each with two calls of 60 s   [100]
  --brokers <list>   of nats, redis                                                   [nats,redis]
  --heartbeat <ms>   of callers and workers                                                  [500]
  --signal <name>    SIGKILL ends workers, SIGSTOP pauses them for good                  [SIGKILL]
  --parallel <n>     how many workers there are at the same time                               [8]
  --help

One of the calls of a worker is at a random moment of its 60 s when the worker is lost, the other one in its first
three heartbeats. Exits with 1 when a caller was notified later than three heartbeats and one second after the loss,
before it, or with an unexpected error. On a machine that is busy with other things choose a longer heartbeat.`;

const { values } = readOptions(help, {
  options: {
    kills: { type: "string", default: "100" },
    brokers: { type: "string", default: "nats,redis" },
    heartbeat: { type: "string", default: "500" },
    signal: { type: "string", default: "SIGKILL" },
    parallel: { type: "string", default: "8" },
    help: { type: "boolean", default: false },
  },
});

const [kills, heartbeat, parallel] = [Number(values.kills), Number(values.heartbeat), Number(values.parallel)];
const signal = values.signal === "SIGSTOP" ? "SIGSTOP" : "SIGKILL";
const promised = 3 * heartbeat + 1_000;

for (const name of values.brokers.split(",")) await run(name as BrokerName);

async function run(broker: BrokerName): Promise<void> {
  await using service = await (broker === "nats" ? startNATS() : startRedis());
  if (service === undefined)
    return console.log(`${broker}: The server is not available. Fetch it with: npx tsx scripts/ensure-program.ts`);
  const { port } = service;
  const notices: Notice[] = [];
  let left = kills;
  const lose = async () => {
    while (left-- > 0) {
      const ages = [Math.random() * (callTimeout - 2 * promised), Math.random() * 3 * heartbeat];
      notices.push(...(await loseWorker({ broker, port, heartbeat, ages, signal })));
    }
  };
  await Promise.all(Array.from({ length: parallel }, lose));
  report(broker, notices);
}

function report(broker: BrokerName, notices: readonly Notice[]): void {
  const early = notices.filter(({ age }) => age <= 3 * heartbeat);
  const late = notices.filter((notice) => notice.noticed > promised || notice.noticed < 0 || !isExpected(notice));
  console.log(`${broker}: ${kills} workers lost by ${signal}, heartbeat ${heartbeat} ms, promised ${promised} ms`);
  console.log(`  all calls                     ${describe(notices)}`);
  console.log(`  in their first 3 heartbeats   ${describe(early)}`);
  console.log(`  ${late.length} were notified late, before the loss, or with an unexpected error`);
  for (const { age, noticed, code } of late) {
    console.log(`    ${code} ${noticed.toFixed(0)} ms after the loss, at an age of ${age.toFixed(0)} ms`);
  }
  if (late.length > 0) process.exitCode = 1;
}

/** Whether an error is expected. A request that is sent at the moment of the loss may reach the broker after it. */
function isExpected({ code, mayHaveRun }: Notice): boolean {
  return code === "UNAVAILABLE" || (code === "OPERATION_NOT_FOUND" && !mayHaveRun);
}

/** Describes the distribution of the times until a caller was notified. */
function describe(notices: readonly Notice[]): string {
  const times = notices.map(({ noticed }) => noticed).sort((a, b) => a - b);
  const at = (share: number) =>
    `${(times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? 0).toFixed(0)} ms`;
  return `${times.length}: min ${at(0)} · p50 ${at(0.5)} · p90 ${at(0.9)} · p99 ${at(0.99)} · max ${at(1)}`;
}
