import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect, test, vi } from "vitest";
import type { PendingRequestMap } from "../../src/call/index.ts";
import type { CallError } from "../../src/operation/index.ts";
import { startNATS } from "../services/nats.ts";
import type { Direction, Proxy as LinkProxy } from "../services/proxy.ts";
import { startRedis } from "../services/redis.ts";
import type { Report } from "./operations.ts";
import { connectOverBroker, connectOverWebSocket, type Pair } from "./pair.ts";

const [nats, redis] = await Promise.all([startNATS(), startRedis()]);
afterAll(async () => {
  await Promise.all([nats?.close(), redis?.close()]);
});

/** How one call ended. */
type Ending = { n: number } & ({ kind: "answered"; data: { n: number } } | { kind: "failed"; error: CallError });

/** The last one when the broker has seen all workers vanish. */
const codes = ["TIMEOUT", "ABORTED", "UNAVAILABLE", "OPERATION_NOT_FOUND"];
const seconds = [1, 5];
const directions = [undefined, "up", "down"] as const;

/** What is seen of calls that are made while a link is cut, and of those after it. */
async function cut(
  pair: Pair,
  link: LinkProxy,
  direction: Direction | undefined,
  milliseconds: number,
  starts: number[],
) {
  const { calls } = pair;
  await calls.call("work.echo", { n: 0 });
  starts.length = 0;

  link.blackhole(direction);
  const healing = delay(milliseconds);
  const controller = new AbortController();
  const short = Array.from({ length: 20 }, (_, n) => ending(calls, 1 + n, { deadline: Date.now() + 300 }));
  const aborted = Array.from({ length: 20 }, (_, n) => ending(calls, 101 + n, { signal: controller.signal }));
  const long = Array.from({ length: 20 }, (_, n) => ending(calls, 201 + n, { deadline: Date.now() + 8_000 }));
  await Promise.all(short);
  controller.abort();
  await Promise.all(aborted);
  await healing;
  const inTime = [...starts];
  link.heal();
  const endings = await Promise.all([...short, ...aborted, ...long]);
  await vi.waitFor(() => calls.call("work.echo", { n: 999 }, { deadline: Date.now() + 2_000 }));

  return { endings, late: starts.slice(inTime.length), pending: calls.pendingCount };
}

async function ending(calls: PendingRequestMap, n: number, options: object): Promise<Ending> {
  return calls.call<{ n: number }>("work.echo", { n }, options).then(
    ({ data }) => ({ n, kind: "answered", data }),
    (error) => ({ n, kind: "failed", error }),
  );
}

/** What was promised and did not hold, in words. */
function violations(
  { endings, late, pending }: Awaited<ReturnType<typeof cut>>,
  starts: readonly number[],
  isBroker: boolean,
): string[] {
  const found: string[] = [];
  if (pending !== 0) found.push(`${pending} calls are pending`);
  // A broker delivers what it holds when a link is back.
  for (const n of late) if (n <= 200 && !isBroker) found.push(`${n} was started after its end`);
  for (const n of new Set(starts)) {
    if (n !== 999 && starts.filter((it) => it === n).length > 1) found.push(`${n} was started twice`);
  }
  for (const it of endings) {
    if (it.kind === "answered") {
      if (it.data.n !== it.n) found.push(`${it.n} got the answer to ${it.data.n}`);
    } else {
      if (!codes.includes(it.error.code)) found.push(`${it.n} failed: ${it.error}`);
      if (!it.error.mayHaveRun && starts.includes(it.n)) found.push(`${it.n} must not have run, and did`);
    }
  }
  return found;
}

/** Applies every fault to a link, each in its own network at the same time, and returns the problems by fault. */
async function cutEveryWay(
  connect: (report: Report) => Promise<Pair>,
  place: "callerLink" | "workerLink",
  isBroker: boolean,
): Promise<Record<string, string[]>> {
  const ways = directions.flatMap((direction) => seconds.map((length) => ({ direction, length })));
  const results = ways.map(async ({ direction, length }) => {
    const starts: number[] = [];
    await using pair = await connect(({ kind, n }) => kind === "started" && starts.push(n));
    const seen = await cut(pair, pair[place], direction, length * 1_000, starts);
    return [`${direction ?? "both ways"}, ${length} s`, violations(seen, starts, isBroker)] as const;
  });
  return Object.fromEntries((await Promise.all(results)).filter(([, found]) => found.length > 0));
}

describe.concurrent("a link that is cut, one way or both, for 1 and 5 seconds", () => {
  test("a WebSocket: calls end once and in time, and new calls succeed afterwards", async () => {
    expect(await cutEveryWay(connectOverWebSocket, "callerLink", false)).toEqual({});
  });

  for (const [broker, service] of [["nats", nats] as const, ["redis", redis] as const]) {
    for (const [place, who] of [["callerLink", "the caller's"] as const, ["workerLink", "the worker's"] as const]) {
      test.skipIf(service === undefined)(`${who} to ${broker}: calls end once and in time, and go on`, async () => {
        const connect = (report: Report) => connectOverBroker(broker, service!.port, report);

        expect(await cutEveryWay(connect, place, true)).toEqual({});
      });
    }
  }
});
