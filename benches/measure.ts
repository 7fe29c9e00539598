/**
 * Does the work `times` times and gives the last result, so that no work can be optimised away. Every block has
 * its own loop: a shared one would see many functions and call none of them as fast as a program would.
 */
export type Block = (times: number) => unknown;

/** How a measurement is made. */
export interface MeasureOptions {
  /** How often every block runs, each round in a new random order. @default 41 */
  rounds?: number;
  /** How long one block takes, in ms; decides how often it repeats its work. @default 10 */
  blockTime?: number;
  /** How long each block runs before anything counts, in ms. @default 400 */
  warmUp?: number;
  /**
   * `cpu` counts what this process used, so that a busy machine does not blur the figures; for work that never waits.
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

/** What came out of one measurement. */
export interface Measurement<Name extends string> {
  floor: Timing;
  /** The floor's code once more: how far its ratio is from 1 is the noise of this measurement. */
  twin: Timing;
  cases: Record<Name, Timing>;
}

/** A twin further from its floor than this makes the measurement start again. */
const tolerance = 0.05;
const attempts = 4;

/** Keeps the results alive, see {@link Block}. */
export const sink: { last: unknown } = { last: undefined };

/**
 * Times the cases against a floor and the floor's twin, in interleaved rounds. Repeats itself while the twin tells
 * of noise, and keeps the quietest of its attempts.
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

/** How far the twin is off, for a row's note. */
export function formatNoise({ twin }: { twin: Timing }): string {
  return `twin ${twin.ratio.toFixed(3)}`;
}

/** The middle value; of an even number the higher one. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

/** A copy in random order. */
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

/** In milliseconds. */
async function time(block: Block, times: number, clock: MeasureOptions["clock"]): Promise<number> {
  const read = clock === "cpu" ? readCPUTime : () => performance.now();
  const start = read();
  sink.last = await block(times);
  return read() - start;
}

/** What this process has used so far, in milliseconds. */
export function readCPUTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function noiseOf(timings: Timing[]): number {
  return Math.abs(timings[1]!.ratio - 1);
}
