import { type Difference, findDifferences } from "./differences.ts";

/** A result of one case with both versions. */
export interface Pair {
  kind: string;
  index: number;
  /** How long the current version took. */
  ms: number;
  reference: unknown;
  current: unknown;
}

/** A difference between the versions that the design asks for. */
export interface Expectation {
  /** Short name, unique in the list. */
  id: string;
  /** What differs, in one sentence. */
  what: string;
  /** The sentence of the design or the changelog that wants it, and where it stands. */
  wanted: string;
  /** The kinds of cases in which it occurs. */
  kinds: readonly string[];
  /** Whether it explains a difference. As narrow as possible. */
  explains(difference: Difference, pair: Pair): boolean;
}

/** What the comparison of a case showed. */
export interface Verdict {
  kind: string;
  index: number;
  /** How long the current version took. */
  ms: number;
  /** Ids of the expectations that explain its differences. */
  expected: string[];
  /** The differences that nothing explains. */
  unexpected: Difference[];
}

/** Compares the results of a case, and looks for an explanation of each difference. */
export function judge(pair: Pair, expectations: readonly Expectation[]): Verdict {
  const { kind, index, ms } = pair;
  const candidates = expectations.filter(({ kinds }) => kinds.includes(kind));
  const expected = new Set<string>();
  const unexpected: Difference[] = [];
  for (const difference of findDifferences(pair.reference, pair.current)) {
    const found = candidates.find((one) => one.explains(difference, pair));
    if (found === undefined) unexpected.push(difference);
    else expected.add(found.id);
  }
  return { kind, index, ms, expected: [...expected], unexpected };
}
