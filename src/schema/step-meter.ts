import { isObject } from "../internal/objects.ts";
import { forEachSubschema, type SchemaObject } from "./keywords.ts";
import { type Refinement, refine } from "./marks.ts";

/** Checking a value needs too many steps. A RangeError, because it is handled like a stack overflow. */
export class TooManySteps extends RangeError {
  constructor() {
    super("Too many steps are needed to check this value.");
  }
}

/** Limits of the steps per part of a value: a union checks all its branches. */
const minStepsPerPart = 20;
const maxStepsPerPart = 1_000;
const maxParts = 5_000_000;

/** The budget of one operation on a value, in units of about 40 ns. Large values have a larger budget. */
const unitsPerOperation = 1_000_000;

/** The measured cost of one step in units: following a reference takes a different time in each mode. */
export const stepCosts = {
  generated: 1,
  /** Generated code that tracks evaluated properties and items, for `unevaluatedProperties` and `unevaluatedItems`. */
  tracked: 40,
  interpreted: 200,
  /** Listing the errors of a value. */
  explained: 250,
} as const;

// Checks are synchronous, so one operation runs at a time. All checks of an operation share its budget.
let isOpen = false;
let unitsLeft = 0;
let unitsPerStep = 1;
let repeats = 1;
/** The value whose size may grant additional units; cleared once they were granted. */
let subject: unknown;

/**
 * Runs an operation on a value with a budget that all its checks share. A nested operation shares the outer budget.
 * @param mayRepeat - number of times that the operation checks each part of the value
 * @throws TooManySteps
 */
export function withinBound<T>(value: unknown, mayRepeat: number, operate: (value: unknown) => T): T {
  if (isOpen) return operate(value);
  isOpen = true;
  unitsLeft = unitsPerOperation;
  repeats = mayRepeat;
  subject = value;
  try {
    return operate(value);
  } finally {
    isOpen = false;
    subject = undefined;
  }
}

/** Returns the function with its steps charged at this cost. */
export function atCost<T>(cost: number, run: (value: unknown) => T): (value: unknown) => T {
  const operate = (value: unknown): T => {
    const outer = unitsPerStep;
    unitsPerStep = cost;
    try {
      return run(value);
    } finally {
      unitsPerStep = outer;
    }
  };
  return (value) => withinBound(value, 1, operate);
}

/**
 * Counts how often a check follows a reference. In recursive unions, branches that partly match can double the work with
 * every level of a value, so that small hostile values would block a process for hours.
 */
export class StepMeter {
  readonly #stepsPerPart: number;

  /** @param definitions - the number of definitions in the schema */
  constructor(definitions: number) {
    this.#stepsPerPart = Math.min(Math.max(2 * definitions, minStepsPerPart), maxStepsPerPart);
  }

  /** Returns the definition with a counter in front of it. */
  count(definition: unknown): SchemaObject {
    return { allOf: [this.counter(true), definition] };
  }

  /** Returns a schema that counts, and accepts every value or none. */
  counter(accepts: boolean): SchemaObject {
    return refine([this.refinement(accepts)]);
  }

  /** Returns a refinement that counts. */
  refinement(accepts: boolean): Refinement {
    return { check: () => this.#step(accepts), error: () => "" };
  }

  #step(accepts: boolean): boolean {
    unitsLeft -= unitsPerStep;
    if (unitsLeft < 0) this.#extend();
    return accepts;
  }

  #extend(): void {
    const value = subject;
    subject = undefined;
    // Only values that exceed the budget are measured; most do not.
    const parts = value === undefined ? 0 : countParts(value, maxParts);
    unitsLeft += parts * this.#stepsPerPart * unitsPerStep * repeats;
    if (unitsLeft < 0) throw new TooManySteps();
  }
}

/** Returns the number of parts of a value at all depths. Counting stops at `max`. */
export function countParts(value: unknown, max: number): number {
  const pending: unknown[] = [value];
  let parts = 0;
  while (pending.length > 0 && parts < max) {
    const next = pending.pop();
    const held = contentOf(next);
    parts += held.length;
    for (let index = 0; index < held.length && pending.length < max; index++) pending.push(held[index]);
  }
  return Math.min(parts, max);
}

/** Returns the direct parts of a value. Single bytes do not count. */
function contentOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return [];
  try {
    return Object.values(value);
  } catch {
    return []; // A getter or a proxy threw. The check itself reports it.
  }
}

/** The number of sub-schemas, with all references expanded, up to which checks are fast in any case. */
const maxUnmeteredSize = 10_000;

/** Returns whether a schema is recursive, or very large with all references expanded. */
export function needsMeter(root: unknown, context: Readonly<Record<string, unknown>>): boolean {
  const sizes = new Map<string, number>();
  const sizeOf = (name: string): number => {
    const known = sizes.get(name);
    if (known !== undefined) return known;
    sizes.set(name, Number.POSITIVE_INFINITY); // Set until the size is known: reading it before that means a cycle.
    const size = measure(context[name]);
    sizes.set(name, size);
    return size;
  };
  const measure = (schema: unknown): number => {
    if (!isObject(schema)) return 1;
    let size = typeof schema["$ref"] === "string" ? 1 + sizeOf(schema["$ref"]) : 1;
    forEachSubschema(schema, (subschema) => {
      size += measure(subschema);
    });
    return size;
  };
  try {
    return measure(root) > maxUnmeteredSize;
  } catch {
    return true; // A chain of references overflowed the stack.
  }
}
