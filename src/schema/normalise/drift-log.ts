import { extendPointer } from "../../internal/json-pointer.ts";
import { truncate } from "../../internal/text.ts";
import type { Drift, DriftKind } from "../../operation/index.ts";

/** A state that a {@link DriftLog} can be restored to. */
export interface DriftMark {
  changes: number;
  mismatches: number;
}

const maxEntries = 20;
// Keys are not trusted. Without a limit, the report could be larger than the data.
const maxPathLength = 500;

interface Entry {
  order: number;
  drift: Drift;
}

/** Records the changes of normalising. Keeps the first 20 entries and counts the others. */
export class DriftLog {
  /** Keys and indexes that lead to the current value. */
  readonly path: Array<string | number> = [];
  readonly #changes: Entry[] = [];
  readonly #mismatches: Entry[] = [];
  #order = 0;
  #changeCount = 0;
  #mismatchCount = 0;

  /** Records a change at the current path, or at `key` below it. */
  change(kind: Exclude<DriftKind, "mismatch">, message: string, key?: string | number): void {
    if (this.#changeCount++ < maxEntries) this.#changes.push(this.#entry(kind, message, key));
  }

  /** Records that the value at the current path, or at `key` below it, is invalid and unchanged. */
  mismatch(message: string, key?: string | number): void {
    if (this.#mismatchCount++ < maxEntries) this.#mismatches.push(this.#entry("mismatch", message, key));
  }

  mark(): DriftMark {
    return { changes: this.#changeCount, mismatches: this.#mismatchCount };
  }

  hasMismatchSince(mark: DriftMark): boolean {
    return this.#mismatchCount > mark.mismatches;
  }

  /** Removes everything recorded since the mark. */
  restore(mark: DriftMark): void {
    this.#changeCount = mark.changes;
    this.#changes.length = Math.min(mark.changes, maxEntries);
    this.forgetMismatches(mark);
  }

  /** Removes the mismatches since the mark, because the values are normalised again. */
  forgetMismatches(mark: DriftMark): void {
    this.#mismatchCount = mark.mismatches;
    this.#mismatches.length = Math.min(mark.mismatches, maxEntries);
  }

  /** Returns the fields of the envelope's meta: none, up to 20 entries, or 20 entries and the total. */
  report(): { drift?: Drift[]; driftTotal?: number } {
    const driftTotal = this.#changeCount + this.#mismatchCount;
    if (driftTotal === 0) return {};
    const entries = [...this.#changes, ...this.#mismatches].sort((a, b) => a.order - b.order);
    const drift = entries.slice(0, maxEntries).map((entry) => entry.drift);
    return driftTotal > maxEntries ? { drift, driftTotal } : { drift };
  }

  #entry(kind: DriftKind, message: string, key: string | number | undefined): Entry {
    return { order: this.#order++, drift: { path: this.#pointer(key), kind, message } };
  }

  #pointer(key: string | number | undefined): string {
    const path = extendPointer("", ...this.path);
    return truncate(key === undefined ? path : extendPointer(path, key), maxPathLength);
  }
}
