import { setTimeout as delay } from "node:timers/promises";
import { becomes } from "./lanes.ts";
import { megabyte, type Soak, type SoakRun } from "./soak.ts";

/** The default credit of a consumer. */
const credit = 64;
const size = 1_000;
const count = 200;
/** In ms. Longer than two heartbeats of a bus, in which peers detect lost ones. */
const patience = 12_000;
const looks = 4;
/** How often a count must be the same, every tenth of a second. */
const atRest = 10;

/** Consumers that read one value each and then no further one. */
export const stalled: Soak = {
  name: "stalled",
  about: "producers pause when their consumers do not read",
  count,
  mayHold: count * credit * size + 50 * megabyte,
  async run(run) {
    const { calls } = run;
    const { produced: before } = await run.counts();
    const made = async () => (await run.counts()).produced - before;
    const consumers = Array.from({ length: run.count }, () => calls.subscribe("soak.count", { to: 1_000_000, size }));
    await Promise.all(consumers.map((consumer) => consumer.next()));

    const problems: string[] = [];
    if (!(await stops(made))) problems.push("the producers went on");
    const values = await made();
    if (values > run.count * (credit + 1)) problems.push(`${values} values were made for ${run.count} consumers`);
    await stay(run);
    if ((await made()) !== values) problems.push("the producers went on after a while");
    await calls.call("soak.echo", { n: 1 });

    await Promise.all(consumers.map((consumer) => consumer.return!()));
    return problems;
  },
};

/** Whether a count no longer changes. On a busy machine it may pause for a short time. */
function stops(made: () => Promise<number>): Promise<boolean> {
  let last = -1;
  let same = 0;
  return becomes(async () => {
    await delay(100);
    const values = await made();
    same = values === last ? same + 1 : 0;
    last = values;
    return same === atRest;
  });
}

async function stay(run: SoakRun): Promise<void> {
  for (let look = 1; look <= looks; look++) {
    await delay((patience / looks) * (run.count / count));
    await run.sample();
    run.progress(Math.floor((run.count * look) / looks));
  }
}
