/**
 * Does the work `times` times and returns the last result, so that no work can be optimized away. Every block has its
 * own loop, because a shared loop would call many functions and could not be optimized for one.
 */
export type Block = (times: number) => unknown;

/** Options of a measurement. */
export interface MeasureOptions {
  /** Number of rounds. Each round runs every block, in a new random order. @default 41 */
  rounds?: number;
  /** Duration of one block, in ms. It determines how often the block repeats its work. @default 10 */
  blockTime?: number;
  /** Warm-up time of each block, in ms. @default 400 */
  warmUp?: number;
  /**
   * `cpu` counts the CPU time of this process, so that a busy machine does not distort the figures. Use it for work
   * that never waits.
   * @default "wall"
   */
  clock?: "wall" | "cpu";
}

/** One block's figures. */
export interface Timing {
  /** Median time of one piece of work, in nanoseconds. */
  ns: number;
  /** Median over the rounds of this block's time divided by the floor's in the same round. */
  ratio: number;
}

/** Result of one measurement. */
export interface Measurement<Name extends string> {
  floor: Timing;
  /** The floor, measured a second time. The distance of its ratio from 1 is the noise of this measurement. */
  twin: Timing;
  cases: Record<Name, Timing>;
}

/** Maximum distance of the twin from the floor. Above it, the measurement is repeated. */
const tolerance = 0.05;
const attempts = 4;

/** Keeps the results alive, see {@link Block}. */
export const sink: { last: unknown } = { last: undefined };

/**
 * Times the cases against a floor and the floor's twin, in interleaved rounds. Repeats the measurement while the twin
 * shows noise, and keeps the attempt with the least noise.
 */
export async function measure<Name extends string>(
  floor: Block,
  cases: Record<Name, Block>,
  options: MeasureOptions = {},
): Promise<Measurement<Name>> {
  const blocks = [floor, floor, ...Object.values<Block>(cases)];
  const counts = await warmUp(blocks, options);
  let best = await runRounds(blocks, counts, options);
  for (let attempt = 1; attempt < attempts && noiseOf(best) > tolerance; attempt++) {
    const next = await runRounds(blocks, counts, options);
    if (noiseOf(next) < noiseOf(best)) best = next;
  }
  const [floorTiming, twin, ...timings] = best as [Timing, Timing, ...Timing[]];
  const named = Object.keys(cases).map((name, index) => [name, timings[index]]);
  return { floor: floorTiming, twin, cases: Object.fromEntries(named) };
}

/** Formats the noise for a row's note. */
export function formatNoise({ twin }: { twin: Timing }): string {
  return `twin ${twin.ratio.toFixed(3)}`;
}

/** Returns the median. For an even number of values, returns the higher of the two. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

/** Returns a copy in random order. */
export function shuffle<T>(values: readonly T[]): T[] {
  const shuffled = [...values];
  for (let index = shuffled.length - 1; index > 0; index--) {
    const other = Math.floor(Math.random() * (index + 1));
    [shuffled[index], shuffled[other]] = [shuffled[other]!, shuffled[index]!];
  }
  return shuffled;
}

async function warmUp(blocks: Block[], { blockTime = 10, warmUp = 400, clock }: MeasureOptions): Promise<number[]> {
  const counts: number[] = [];
  for (const block of blocks) {
    let times = 1;
    const end = performance.now() + warmUp;
    while (performance.now() < end) {
      const took = await time(block, times, clock);
      if (took < blockTime) times = Math.ceil(times * Math.min(10, Math.max(1.1, blockTime / took)));
      else times = Math.max(1, Math.round((times * blockTime) / took));
    }
    counts.push(times);
  }
  return counts;
}

async function runRounds(blocks: Block[], counts: number[], { rounds = 41, clock }: MeasureOptions): Promise<Timing[]> {
  const samples = blocks.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const index of shuffle([...blocks.keys()])) {
      const took = await time(blocks[index]!, counts[index]!, clock);
      samples[index]!.push((took * 1e6) / counts[index]!);
    }
  }
  const floor = samples[0]!;
  return samples.map((times) => ({ ns: median(times), ratio: median(times.map((ns, round) => ns / floor[round]!)) }));
}

/** Returns the duration of a block, in ms. */
async function time(block: Block, times: number, clock: MeasureOptions["clock"]): Promise<number> {
  const read = clock === "cpu" ? readCPUTime : () => performance.now();
  const start = read();
  sink.last = await block(times);
  return read() - start;
}

/** Returns the CPU time that this process has used so far, in ms. */
export function readCPUTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function noiseOf(timings: Timing[]): number {
  return Math.abs(timings[1]!.ratio - 1);
}
