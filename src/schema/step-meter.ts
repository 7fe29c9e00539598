import { forEachSubschema, isRecord, type SchemaObject } from "./keywords.ts";
import { hide } from "./marks.ts";
import type { Refinement } from "./refinements.ts";

/** A value takes more steps to check than anybody should wait for. A RangeError, as a stack that overflows gives. */
export class TooManySteps extends RangeError {
  constructor() {
    super("Too many steps are needed to check this value.");
  }
}

/** How many steps each part of a value may take, at least and at most: a union looks at all its alternatives. */
const minStepsPerPart = 20;
const maxStepsPerPart = 1_000;
const maxParts = 5_000_000;

/** What one operation on a value may cost, in units of about 40 ns, besides what its size allows. */
const unitsPerOperation = 1_000_000;

/** What one step costs in units, measured: how often a reference is followed does not say how long that takes. */
export const stepCosts = {
  generated: 1,
  /** Generated code that keeps track of what was evaluated, for `unevaluatedProperties` and `unevaluatedItems`. */
  tracked: 40,
  interpreted: 200,
  /** Saying what is wrong with a value. */
  explained: 250,
} as const;

// One operation at a time: checks are synchronous. Everything that an operation asks of a value is paid from here.
let isOpen = false;
let unitsLeft = 0;
let unitsPerStep = 1;
let repeats = 1;
/** The value whose size allows more, until that was used. */
let subject: unknown;

/**
 * Runs an operation on a value, within a bound on the steps that all its checks take together; inside of another
 * operation within the bound of that one. @param mayRepeat - how often the operation looks at each part of the value
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

/** The same function, with each step that it takes at this cost. */
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
 * Counts how often a check follows a reference. In unions that hold themselves, alternatives that each fit in part can
 * double the work with every level of a value; small hostile values would keep a process busy for ever.
 */
export class StepMeter {
  readonly #stepsPerPart: number;

  /** @param definitions how many the schema has */
  constructor(definitions: number) {
    this.#stepsPerPart = Math.min(Math.max(2 * definitions, minStepsPerPart), maxStepsPerPart);
  }

  /** The same definition, with each use of it counted first. */
  count(definition: unknown): SchemaObject {
    return { allOf: [this.counter(true), definition] };
  }

  /** A schema that accepts everything or nothing, and counts. */
  counter(accepts: boolean): SchemaObject {
    const counter = {};
    hide(counter, "~refine", [this.refinement(accepts)]);
    return counter;
  }

  /** The same as a refinement of another schema. */
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
    // Most values are small; only those that need it are counted.
    const parts = value === undefined ? 0 : countParts(value, maxParts);
    unitsLeft += parts * this.#stepsPerPart * unitsPerStep * repeats;
    if (unitsLeft < 0) throw new TooManySteps();
  }
}

/** How many parts a value has, inside of one another too; counting ends at `most`. */
export function countParts(value: unknown, most: number): number {
  const pending: unknown[] = [value];
  let parts = 0;
  while (pending.length > 0 && parts < most) {
    const next = pending.pop();
    const held = contentOf(next);
    parts += held.length;
    for (let index = 0; index < held.length && pending.length < most; index++) pending.push(held[index]);
  }
  return Math.min(parts, most);
}

/** What is in a value, at the first level. Of bytes nobody looks at each. */
function contentOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return [];
  try {
    return Object.values(value);
  } catch {
    return []; // a getter or a proxy; it is told where it is read for a reason
  }
}

/** Fewer sub-schemas than this, with all references written out, cannot keep anybody waiting. */
const harmlessSize = 10_000;

/** Whether references lead back to where they stand, or so often to the same place that it adds up. */
export function needsMeter(root: unknown, context: Readonly<Record<string, unknown>>): boolean {
  const sizes = new Map<string, number>();
  const sizeOf = (name: string): number => {
    const known = sizes.get(name);
    if (known !== undefined) return known;
    sizes.set(name, Number.POSITIVE_INFINITY); // until it is known: who comes here meanwhile came in a circle
    const size = measure(context[name]);
    sizes.set(name, size);
    return size;
  };
  const measure = (schema: unknown): number => {
    if (!isRecord(schema)) return 1;
    let size = typeof schema["$ref"] === "string" ? 1 + sizeOf(schema["$ref"]) : 1;
    forEachSubschema(schema, (subschema) => {
      size += measure(subschema);
    });
    return size;
  };
  try {
    return measure(root) > harmlessSize;
  } catch {
    return true; // a chain of references that is too long to be followed
  }
}
