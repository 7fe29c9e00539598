import { Random } from "../chaos/random.ts";
import type { Mutant } from "./candidates.ts";

/**
 * Chooses `count` candidates. Each file gets as many as its share of all candidates, and which ones of a file are chosen
 * depends only on the seed and that file. The result is in a random order, so that any part of it is a fair sample.
 */
export function chooseMutants(candidates: readonly Mutant[], count: number, seed: number): Mutant[] {
  const random = new Random(seed);
  const byFile = new Map<string, Mutant[]>();
  for (const one of candidates) byFile.set(one.file, [...(byFile.get(one.file) ?? []), one]);
  const shares = [...byFile].map(([file, own]) => {
    const exact = (Math.min(count, candidates.length) * own.length) / candidates.length;
    return { file, own, whole: Math.floor(exact), rest: exact % 1 };
  });
  // The files with the largest remainders share what rounding left over.
  const left = Math.min(count, candidates.length) - shares.reduce((sum, { whole }) => sum + whole, 0);
  const byRest = [...shares].sort((one, other) => other.rest - one.rest || (one.file < other.file ? -1 : 1));
  for (const share of byRest.slice(0, left)) share.whole += 1;
  const chosen = shares.flatMap(({ file, own, whole }) => shuffle(own, random.fork(file)).slice(0, whole));
  return shuffle(chosen, random.fork("order"));
}

function shuffle<Item>(items: readonly Item[], random: Random): Item[] {
  const shuffled = [...items];
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = random.integer(0, last);
    [shuffled[last], shuffled[other]] = [shuffled[other]!, shuffled[last]!];
  }
  return shuffled;
}
