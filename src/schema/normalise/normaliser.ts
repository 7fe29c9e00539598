import type { TSchema } from "typebox";
import type { Drift } from "../../operation/index.ts";
import { type CheckFunction, isStackOverflow } from "../check.ts";
import { type CompiledSchema, compileSchema } from "../compile.ts";
import { TooManySteps, withinBound } from "../step-meter.ts";
import { createInstanceReader } from "./class-instances.ts";
import { DriftLog } from "./drift-log.ts";
import { Planner } from "./plan.ts";
import { createRootCheck, looksClassless, type QuickCheck } from "./unchanged-check.ts";
import { NoFixpointError, Walker } from "./walk.ts";

/** Normalised data, and the differences between the original and its schema. */
export interface Normalised {
  /** The value itself if nothing changed, otherwise a copy that shares every unchanged part with it. */
  data: unknown;
  /** At most 20 entries; absent without a difference. */
  drift?: Drift[];
  /** The number of differences; present if `drift` was truncated. */
  driftTotal?: number;
}

/** Brings data into the shape of a schema without losing, swapping or silently inventing a value. */
export interface Normaliser {
  /** Accepts data that is valid and needs no change. Compiled on the first read of the property. */
  readonly quickCheck: QuickCheck;
  /** Strips, fills and converts data, and reports these changes and everything that is still invalid. */
  normalise(value: unknown): Normalised;
  /** Reports what `normalise` would do and returns the data unchanged, but with class instances as objects. */
  inspect(value: unknown): Normalised;
}

/** Number of times that normalising checks each part of a value: before it, to select branches, and after changes. */
const checksPerPart = 4;

const normalisers = new WeakMap<object, Normaliser>();

/** Returns the normaliser of a schema, always the same one. Nothing is compiled before its first use. */
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
  /** Returns whether valid data that passes `looksClassless` is unchanged. Absent if all of it is. */
  #isUnchanged: CheckFunction | undefined;

  constructor(schema: TSchema) {
    this.#schema = schema;
    this.#compiled = compileSchema(schema);
  }

  get quickCheck(): QuickCheck {
    this.#prepare();
    return { isValid: this.#compiled.throwingCheck, isUnchanged: this.#isUnchanged };
  }

  normalise(given: unknown): Normalised {
    const value = createInstanceReader(this.#schema).readOutput(given);
    try {
      return withinBound(value, checksPerPart, (it) => this.#normalise(it));
    } catch (error) {
      if (error instanceof NoFixpointError || error instanceof TooManySteps) {
        return unchanged(value, "cannot be normalised in a bounded time");
      }
      // The data, or a cycle in it, is nested too deeply for a recursive schema.
      if (isStackOverflow(error)) return unchanged(value, "is nested too deeply to be checked");
      throw error;
    }
  }

  inspect(value: unknown): Normalised {
    const data = createInstanceReader(this.#schema).readOutput(value);
    return { ...this.normalise(data), data };
  }

  #normalise(value: unknown): Normalised {
    const { root, document } = this.#prepare();
    const valid = this.#compiled.check(value);
    if (valid && looksClassless(value) && (this.#isUnchanged?.(value) ?? true)) return { data: value };
    const log = new DriftLog();
    const start = log.mark();
    const data = document.hasSelfContainedParts ? new Walker(log).walk(root, value, valid) : value;
    // The walker keeps valid data valid. Repairs of invalid data may not have been enough.
    const isValid = valid || (data !== value && this.#compiled.check(data));
    if (!isValid && !log.hasMismatchSince(start)) log.mismatch("does not match the schema");
    return { data, ...log.report() };
  }

  #prepare(): Planner {
    if (this.#planner === undefined) {
      const planner = new Planner(this.#schema);
      const { root, document } = planner;
      const check = createRootCheck(document.hasSelfContainedParts ? root : root.flat);
      // Only a schema with references can need many steps.
      const isBounded = check === undefined || !document.hasReferences;
      this.#isUnchanged = isBounded ? check : (value) => withinBound(value, checksPerPart, check);
      this.#planner = planner;
    }
    return this.#planner;
  }
}

function unchanged(data: unknown, message: string): Normalised {
  return { data, drift: [{ path: "", kind: "mismatch", message }] };
}
