import { setTimeout as delay } from "node:timers/promises";
import type { SoakRun } from "./soak.ts";

/** Runs a task `count` times, so many at the same time, and reports its progress. */
export async function inLanes(
  { count, progress }: SoakRun,
  lanes: number,
  work: (n: number) => Promise<void>,
): Promise<void> {
  let begun = 0;
  let done = 0;
  const lane = async () => {
    while (begun < count) {
      await work(begun++);
      if (++done % 1_000 === 0) progress(done);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** Waits for something to become true, for as long as a busy machine may need. False when it does not. */
export async function becomes(isTrue: () => Promise<boolean>, patience = 60_000): Promise<boolean> {
  const giveUpAt = performance.now() + patience;
  while (!(await isTrue())) {
    if (performance.now() > giveUpAt) return false;
    await delay(5);
  }
  return true;
}
