import type { Random } from "../chaos/random.ts";
import type { Library } from "./library.ts";

/**
 * One kind of cases. A case is data: it is generated from a seed alone, so that both versions of the package run the same
 * cases whatever they return.
 */
export interface Kind<Case = unknown> {
  /** Name of the kind, as `--kind` takes it. */
  readonly name: string;
  /** Its share of all cases. */
  readonly weight: number;
  /** Maximum number of cases, for kinds that start processes. */
  readonly atMost?: number;
  /** Generates a case. */
  generate(random: Random): Case;
  /** Runs a case with one version of the package. Returns what is compared: any value that `describe` reads. */
  run(one: Case, library: Library): Promise<unknown>;
}

/** Defines a kind whose cases have an inferred type. */
export function defineKind<Case>(kind: Kind<Case>): Kind {
  return kind as Kind;
}

/** Runs a function and returns its result, or the value that it throws. */
export async function outcomeOf(run: () => unknown): Promise<unknown> {
  try {
    return { returned: await run() };
  } catch (error) {
    return { thrown: error };
  }
}

/** Reads at most `limit` values. Returns them and the error that ended the iteration, if one did. */
export async function collect(values: AsyncIterable<unknown>, limit = 100): Promise<unknown> {
  const collected: unknown[] = [];
  try {
    for await (const value of values) {
      collected.push(value);
      if (collected.length >= limit) break;
    }
    return { values: collected };
  } catch (error) {
    return { values: collected, thrown: error };
  }
}
