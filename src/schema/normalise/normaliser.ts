import type { TSchema } from "typebox";
import type { Drift } from "../../operation/index.ts";
import { type CheckFunction, isStackOverflow } from "../check.ts";
import { type CompiledSchema, compileSchema } from "../compile.ts";
import { TooManySteps, withinBound } from "../step-meter.ts";
import { DriftLog } from "./drift-log.ts";
import { createRootCheck } from "./known-keys.ts";
import { createPlainCheck, isPlainAtRoot } from "./plain-check.ts";
import { createPlainForm } from "./plain-form.ts";
import { Planner } from "./plan.ts";
import { RestlessError, Walker } from "./walk.ts";

/** Data after normalising, and how it differed from its schema. */
export interface Normalised {
  /** The value itself when nothing had to change, else a copy that shares every unchanged part with it. */
  data: unknown;
  /** At most 20 entries; absent when there was no difference. */
  drift?: Drift[];
  /** How many differences there were; present when `drift` was cut. */
  driftTotal?: number;
}

/** Brings data into the shape of a schema without ever losing, swapping or silently inventing a value. */
export interface Normaliser {
  /** Quickly tells data that fits and needs no change. `false` means "look closer". */
  clean(value: unknown): boolean;
  /**
   * The two halves of {@link clean} for a value that has passed `isPlainAtRoot`: whether data fits, and whether data that
   * fits needs no change. They throw for data that is nested too deeply or takes too many steps.
   */
  readonly unguarded: { fits: CheckFunction; isTidy: CheckFunction };
  /** Strips, fills and converts what can be put right, and reports what was done and what stayed wrong. */
  normalise(value: unknown): Normalised;
  /** Reports what `normalise` would do and leaves the data as it came, with instances of classes as plain objects. */
  inspect(value: unknown): Normalised;
}

/** How often normalising looks at each part of a value: to check it, to select what applies, and after changes. */
const looks = 4;

const normalisers = new WeakMap<object, Normaliser>();

/** The normaliser of a schema. Nothing is compiled before its first use, and each schema has only one. */
export function createNormaliser(schema: TSchema): Normaliser {
  if (typeof schema !== "object" || schema === null) return new SchemaNormaliser(schema);
  let normaliser = normalisers.get(schema);
  if (normaliser === undefined) {
    normaliser = new SchemaNormaliser(schema);
    normalisers.set(schema, normaliser);
  }
  return normaliser;
}

class SchemaNormaliser implements Normaliser {
  readonly #schema: TSchema;
  readonly #compiled: CompiledSchema;
  #planner: Planner | undefined;
  /** Whether a value that fits also needs no change. */
  #known: CheckFunction | undefined;

  constructor(schema: TSchema) {
    this.#schema = schema;
    this.#compiled = compileSchema(schema);
  }

  get unguarded(): { fits: CheckFunction; isTidy: CheckFunction } {
    return { fits: this.#compiled.unguarded, isTidy: this.#known ?? this.#prepare() };
  }

  clean(value: unknown): boolean {
    const known = this.#known ?? this.#prepare();
    try {
      return isPlainAtRoot(value) && this.#compiled.check(value) && known(value);
    } catch (error) {
      if (isStackOverflow(error)) return false;
      throw error;
    }
  }

  normalise(given: unknown): Normalised {
    const value = createPlainForm(this.#schema).readOutput(given);
    try {
      return withinBound(value, looks, (it) => this.#normalise(it));
    } catch (error) {
      if (error instanceof RestlessError || error instanceof TooManySteps) {
        return leave(value, "cannot be normalised in a bounded time");
      }
      // Data, or a cycle in it, deeper than a schema that refers to itself can follow.
      if (isStackOverflow(error)) return leave(value, "nested too deeply to be checked");
      throw error;
    }
  }

  inspect(value: unknown): Normalised {
    const data = createPlainForm(this.#schema).readOutput(value);
    return { ...this.normalise(data), data };
  }

  #normalise(value: unknown): Normalised {
    const known = this.#known ?? this.#prepare();
    const planner = this.#planner!;
    const compiled = this.#compiled;
    const valid = compiled.check(value);
    if (valid && isPlainAtRoot(value) && known(value)) return { data: value };
    const log = new DriftLog();
    const start = log.mark();
    const data = planner.checks.separable ? new Walker(log).walk(planner.root, value, valid) : value;
    // Tidying keeps what fits fitting; the walker takes back what would not. Repairing may not have been enough.
    const fits = valid || (data !== value && compiled.check(data));
    if (!fits && !log.hasMismatchSince(start)) log.mismatch("does not fit the schema");
    return { data, ...log.report() };
  }

  #prepare(): CheckFunction {
    this.#planner = new Planner(this.#schema);
    const { root, checks } = this.#planner;
    const known = checks.separable ? createRootCheck(root) : createPlainCheck(root.flat);
    // Only what refers to itself or to the same place again and again can take long.
    this.#known = checks.hasReferences ? (value) => withinBound(value, looks, known) : known;
    return this.#known;
  }
}

function leave(data: unknown, message: string): Normalised {
  return { data, drift: [{ path: "", kind: "mismatch", message }] };
}
