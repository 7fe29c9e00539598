import { setImmediate as turn } from "node:timers/promises";
import { inLanes } from "./lanes.ts";
import { offers, visits } from "./peers.ts";
import { megabyte, type Soak } from "./soak.ts";
import { stalled } from "./stalled.ts";
import { streams } from "./streams.ts";
import { unread } from "./unread.ts";

const lanes = 64;

const pending: Soak = {
  name: "pending",
  about: "this number of calls is pending at the same time, and all settle",
  count: 10_000,
  async run({ calls, count }) {
    const deadline = Date.now() + 300_000; // the last one may be late on a busy machine
    const answers = await Promise.all(
      Array.from({ length: count }, (_, n) => calls.call<number>("soak.meet", { n, of: count }, { deadline })),
    );
    const wrong = answers.filter(({ data }, n) => data !== n).length;
    return wrong === 0 ? [] : [`${wrong} answers were for another call`];
  },
};

const calls: Soak = {
  name: "calls",
  about: "calls do not leak",
  count: 100_000,
  async run(run) {
    let wrong = 0;
    await inLanes(run, lanes, async (n) => {
      const { data } = await run.calls.call("soak.echo", { n });
      if (data !== n) wrong++;
    });
    return wrong === 0 ? [] : [`${wrong} answers were for another call`];
  },
};

const aborted: Soak = {
  name: "aborted",
  about: "aborted calls do not leak",
  count: 20_000,
  async run(run) {
    const wrong = new Map<string, number>();
    await inLanes(run, lanes, async (n) => {
      const controller = new AbortController();
      const call = run.calls.call("soak.hang", { n }, { signal: controller.signal });
      const code = call.then(
        () => "an answer",
        ({ code }) => code as string,
      );
      // Half of them are on their way, the others run.
      if (n % 2 === 0) await run.calls.call("soak.echo", { n });
      controller.abort();
      const came = await code;
      if (came !== "ABORTED") wrong.set(came, (wrong.get(came) ?? 0) + 1);
    });
    return Array.from(wrong, ([code, times]) => `${times} ended with ${code}`);
  },
};

const subscriptions: Soak = {
  name: "subscriptions",
  about: "subscriptions that are ended early do not leak",
  count: 10_000,
  async run(run) {
    let wrong = 0;
    await inLanes(run, lanes, async () => {
      let next = 0;
      for await (const { data } of run.calls.subscribe("soak.count", { to: 1_000_000 })) {
        if (data !== next++) wrong++;
        if (next === 3) break;
      }
    });
    return wrong === 0 ? [] : [`${wrong} values were out of order`];
  },
};

const connections: Soak = {
  name: "connections",
  about: "clients that connect, call once and close do not leak",
  count: 1_000,
  async run(run) {
    await inLanes(run, 8, async (n) => {
      const caller = await run.way.connect();
      await caller.call("soak.echo", { n });
      await caller.close();
    });
    return [];
  },
};

const slow: Soak = {
  name: "slow",
  about: "values for a consumer that is slower than the producer do not accumulate",
  count: 1_000_000,
  mayHold: 50 * megabyte,
  async run({ calls, count, progress, sample }) {
    let next = 0;
    let wrong = 0;
    const stretch = Math.min(100_000, Math.ceil(count / 2));
    for await (const { data } of calls.subscribe("soak.count", { to: count })) {
      if (data !== next++) wrong++;
      if (next % 16 === 0) await turn();
      if (next % stretch !== 0) continue;
      await sample();
      progress(next);
    }
    const problems = next === count ? [] : [`${next} values came`];
    if (wrong > 0) problems.push(`${wrong} values were out of order`);
    return problems;
  },
};

/** All soaks, in the order in which they run. */
export const soaks: readonly Soak[] = [
  pending,
  calls,
  aborted,
  subscriptions,
  connections,
  offers,
  visits,
  slow,
  stalled,
  unread,
  streams,
];
