import { setImmediate as turn } from "node:timers/promises";

/** What one thread holds, in bytes. */
export interface Memory {
  /** Size of the heap and of external memory, after a collection. */
  held: number;
  /** The whole process. */
  rss: number;
  /** Maximum of the process since the last reading. */
  peakRSS: number;
}

let peakRSS = 0;

/** Looks at the size of the process now and then. */
export function watchPeak(): void {
  setInterval(notePeak, 50).unref();
}

/** Collects garbage and returns what is left. Needs `--expose-gc`. */
export async function collect(): Promise<Memory> {
  notePeak();
  const peak = peakRSS;
  // Buffers that the first collection found are let go of between turns, and only then no longer counted.
  for (let round = 0; round < 2; round++) {
    await turn();
    globalThis.gc!();
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  peakRSS = 0;
  return { held: heapUsed + external, rss, peakRSS: peak };
}

function notePeak(): void {
  peakRSS = Math.max(peakRSS, process.memoryUsage.rss());
}
