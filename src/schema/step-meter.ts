import { forEachSubschema, isRecord, type SchemaObject } from "./keywords.ts";
import { hide } from "./marks.ts";

/** A value takes more steps to check than anybody should wait for. A RangeError, as a stack that overflows gives. */
export class TooManySteps extends RangeError {
  constructor() {
    super("Too many steps are needed to check this value.");
  }
}

/** What each part of a value may cost, at least and at most: a union looks at all its alternatives. */
const leastPerPart = 20;
const mostPerPart = 1_000;
const mostParts = 5_000_000;

/**
 * Counts how often a check follows a reference. In unions that hold themselves, alternatives that each fit in part can
 * double the work with every level of a value; small hostile values would keep a process busy for ever.
 */
export class StepMeter {
  readonly #stepsPerPart: number;
  #left = 0;
  /** What more may be had for, until it was. */
  #value: unknown = undefined;

  /** @param definitions how many the schema has */
  constructor(definitions: number) {
    this.#stepsPerPart = Math.min(Math.max(2 * definitions, leastPerPart), mostPerPart);
  }

  /** Allows `steps`, and as many more as a value of this size may need. */
  begin(value: unknown, steps: number): void {
    this.#left = steps;
    this.#value = value;
  }

  /** Lets go of the value. */
  end(): void {
    this.#value = undefined;
  }

  /** The same definition, with each use of it counted first. */
  count(definition: unknown): SchemaObject {
    const counter = {};
    hide(counter, "~refine", [{ check: () => this.#step(), error: () => "" }]);
    return { allOf: [counter, definition] };
  }

  #step(): true {
    this.#left -= 1;
    if (this.#left < 0) this.#extend();
    return true;
  }

  #extend(): void {
    const value = this.#value;
    this.#value = undefined;
    // Most values are small; only those that need it are counted.
    this.#left = value === undefined ? 0 : countParts(value, mostParts) * this.#stepsPerPart;
    if (this.#left === 0) throw new TooManySteps();
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
