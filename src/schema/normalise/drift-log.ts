import type { Drift, DriftKind } from "../../operation/index.ts";

/** A point that a {@link DriftLog} can be taken back to. */
export interface DriftMark {
  changes: number;
  mismatches: number;
}

const limit = 20;
// Keys come from outside; without a bound twenty of them could be larger than the data.
const longestPath = 500;

interface Entry {
  order: number;
  drift: Drift;
}

/** Collects what normalising does. Keeps the first 20 entries and counts the rest. */
export class DriftLog {
  /** Keys and indexes on the way to the value that is looked at. */
  readonly path: Array<string | number> = [];
  readonly #changes: Entry[] = [];
  readonly #mismatches: Entry[] = [];
  #order = 0;
  #changeCount = 0;
  #mismatchCount = 0;

  /** Notes a change at the current path, or at `key` below it. */
  change(kind: Exclude<DriftKind, "mismatch">, message: string, key?: string | number): void {
    if (this.#changeCount++ < limit) this.#changes.push(this.#entry(kind, message, key));
  }

  /** Notes that the value at the current path, or at `key` below it, does not fit and stays. */
  mismatch(message: string, key?: string | number): void {
    if (this.#mismatchCount++ < limit) this.#mismatches.push(this.#entry("mismatch", message, key));
  }

  mark(): DriftMark {
    return { changes: this.#changeCount, mismatches: this.#mismatchCount };
  }

  hasMismatchSince(mark: DriftMark): boolean {
    return this.#mismatchCount > mark.mismatches;
  }

  /** Forgets everything noted since the mark. */
  restore(mark: DriftMark): void {
    this.#changeCount = mark.changes;
    this.#changes.length = Math.min(mark.changes, limit);
    this.forgetMismatches(mark);
  }

  /** Forgets the mismatches since the mark, because the values are looked at once more. */
  forgetMismatches(mark: DriftMark): void {
    this.#mismatchCount = mark.mismatches;
    this.#mismatches.length = Math.min(mark.mismatches, limit);
  }

  /** What goes into the answer's meta: nothing, up to 20 entries, or 20 entries and how many there were. */
  report(): { drift?: Drift[]; driftTotal?: number } {
    const driftTotal = this.#changeCount + this.#mismatchCount;
    if (driftTotal === 0) return {};
    const entries = [...this.#changes, ...this.#mismatches].sort((a, b) => a.order - b.order);
    const drift = entries.slice(0, limit).map((entry) => entry.drift);
    return driftTotal > limit ? { drift, driftTotal } : { drift };
  }

  #entry(kind: DriftKind, message: string, key: string | number | undefined): Entry {
    return { order: this.#order++, drift: { path: this.#pointer(key), kind, message } };
  }

  #pointer(key: string | number | undefined): string {
    let pointer = "";
    for (const part of this.path) pointer += `/${escapeKey(part)}`;
    if (key !== undefined) pointer += `/${escapeKey(key)}`;
    return pointer.length > longestPath ? `${pointer.slice(0, longestPath)}…` : pointer;
  }
}

function escapeKey(key: string | number): string | number {
  return typeof key === "string" && /[~/]/.test(key) ? key.replaceAll("~", "~0").replaceAll("/", "~1") : key;
}
