import { readFileSync } from "node:fs";

/** How long a process and its children may take, in ms. */
export interface Limits {
  /** Time in which they run or wait for something other than a processor. */
  waitMs: number;
  /** Processor time of one of them. Only known on Linux. */
  busyMs: number;
}

interface Times {
  /** Processor time in ms. */
  busy: number;
  /** Time in ms in which the process could run, but others did. */
  starved: number;
}

/**
 * Measures a process and its children so that the result does not depend on what else runs on the machine: time in which
 * others had the processor does not count. On other systems than Linux it does.
 */
export class Stopwatch {
  readonly #pid: number;
  readonly #started = performance.now();
  readonly #first: Map<number, Times>;
  readonly #last: Map<number, Times>;

  constructor(pid: number) {
    this.#pid = pid;
    this.#first = readTimes(pid);
    this.#last = new Map(this.#first);
  }

  /** Call often: the times of a process that has ended are those of the call before. */
  exceeds({ waitMs, busyMs }: Limits): boolean {
    for (const [pid, times] of readTimes(this.#pid)) this.#last.set(pid, times);
    let elapsed = performance.now() - this.#started;
    let busiest = 0;
    for (const [pid, { busy, starved }] of this.#last) {
      const before = this.#first.get(pid);
      elapsed -= starved - (before?.starved ?? 0);
      busiest = Math.max(busiest, busy - (before?.busy ?? 0));
    }
    return elapsed > waitMs || busiest > busyMs;
  }
}

/** Reads the times of the main threads of a process and all processes below it. */
function readTimes(pid: number, times = new Map<number, Times>()): Map<number, Times> {
  try {
    const [busy, starved] = readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ").map(Number);
    times.set(pid, { busy: busy! / 1e6, starved: starved! / 1e6 });
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    for (const child of children === "" ? [] : children.split(" ")) readTimes(Number(child), times);
  } catch {
    // The process has ended, or the system is not Linux.
  }
  return times;
}
