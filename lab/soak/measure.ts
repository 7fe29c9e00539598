import { becomes } from "./lanes.ts";
import { collect, type Memory } from "./memory.ts";
import type { Counts } from "./operations.ts";
import { megabyte, type Outcome, type Soak, type SoakRun } from "./soak.ts";

/** What either side may have more of after any soak. */
const mayKeep = 5 * megabyte;

/** How a soak is judged. */
export interface Judging {
  /** Whether caller and server share a heap, which is then reported once. */
  isLocal: boolean;
  /** Bounds are multiplied by this. */
  slack: number;
}

/** Runs a soak after a short one of the same kind, so that what is made once and kept does not count. */
export async function measure(
  soak: Soak,
  run: Omit<SoakRun, "counts" | "sample">,
  { isLocal, slack }: Judging,
): Promise<Outcome> {
  const own = new Track();
  const server = new Track();
  const counts = async () => ({ ...(await run.calls.call<Counts>("soak.counts", {})).data });
  const sample = async () => {
    const { data } = await run.calls.call<Memory>("soak.memory", {});
    server.add(data);
    own.add(isLocal ? data : await collect());
  };
  const isIdle = () => becomes(async () => (await counts()).open === 0);
  const warmUp = Math.min(run.count, Math.max(10, Math.ceil(run.count / 20)));
  await soak.run({ ...run, count: warmUp, progress: () => {}, counts, sample: async () => {} });
  await isIdle();
  await sample();
  own.restart();
  server.restart();

  const started = performance.now();
  const problems = await soak.run({ ...run, counts, sample });
  const time = performance.now() - started;
  if (!(await isIdle())) problems.push("handlers still run");
  if (run.calls.pendingCount > 0) problems.push(`${run.calls.pendingCount} calls are still pending`);
  await sample();

  const tracks = isLocal ? [own] : [own, server];
  const kept = tracks.map((track) => track.kept);
  const held = tracks.map((track) => track.held);
  problems.push(...judge("keeps", kept, mayKeep * slack));
  if (soak.mayHold !== undefined) problems.push(...judge("held", held, soak.mayHold * slack));
  return {
    soak: soak.name,
    count: run.count,
    time,
    kept,
    held,
    peakRSS: tracks.map((track) => track.peakRSS),
    problems,
  };
}

/** What one side held from a certain moment on. */
class Track {
  #start: Memory = { held: 0, rss: 0, peakRSS: 0 };
  #last = this.#start;
  kept = 0;
  held = 0;
  peakRSS = 0;

  /** From the last one on. */
  restart(): void {
    this.#start = this.#last;
    this.kept = 0;
    this.held = 0;
    this.peakRSS = 0;
  }

  add(memory: Memory): void {
    const { held, peakRSS } = memory;
    this.#last = memory;
    this.kept = held - this.#start.held;
    this.held = Math.max(this.held, this.kept);
    this.peakRSS = Math.max(this.peakRSS, peakRSS - this.#start.rss);
  }
}

function judge(what: string, sizes: readonly number[], bound: number): string[] {
  return sizes.flatMap((size, index) => {
    const side = index === 0 ? "caller" : "server";
    return size > bound ? `the ${side} ${what} ${(size / megabyte).toFixed(1)} MB` : [];
  });
}
