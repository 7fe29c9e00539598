import type { TSchema } from "typebox";
import { forEachSubschema, isRecord, type SchemaObject } from "../keywords.ts";
import { ArrayShape } from "./array-shape.ts";
import { type Choice, collectFacets, collectTypes, type Facets } from "./facets.ts";
import { hasShape, ObjectShape } from "./object-shape.ts";
import { type Schema, SchemaChecks } from "./schema-checks.ts";
import { isFreeForm, selectBranches, takeSingleBranch } from "./select.ts";

// Keywords that a change inside an object or array can turn from kept to broken, or that no part alone can judge.
const wholeKeywords = new Set(
  (
    "enum const not minProperties maxProperties propertyNames dependentRequired dependencies minItems maxItems " +
    "uniqueItems contains minContains maxContains unevaluatedItems unevaluatedProperties ~refine ~guard"
  ).split(" "),
);

const scalarKeywords = new Set(
  (
    "enum const not minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf " +
    "~refine ~guard"
  ).split(" "),
);

/** A default or an empty value that may be filled in, already normalised itself. */
export interface Filling {
  value: unknown;
}

/** What is known about all values at one place of a document: every schema that applies there at once. */
export class Plan {
  readonly planner: Planner;
  readonly facets: readonly SchemaObject[];
  readonly choices: readonly Choice[];
  readonly never: boolean;
  /** What a value may be, as far as the facets say. */
  readonly types: ReadonlySet<string> | undefined;
  /** Whether a change must be verified against the whole schema. */
  readonly guarded: boolean;
  /** Whether an alternative without any shape was selected, so that no property is unknown. */
  readonly freeForm: boolean;
  /** The plan with the choices that were decided to come here; absent when none was. */
  readonly previous: Plan | undefined;
  /** Computed by the walker on first need; `null` while that goes on. */
  default: Filling | undefined | null;
  defaultReady = false;

  readonly #sources: readonly Schema[];
  readonly #origin: Plan | undefined;
  readonly #constrained: boolean;
  readonly #selected = new Map<string, Plan>();
  readonly #byBranch: Plan[] = [];
  #objectShape: ObjectShape | undefined;
  #arrayShape: ArrayShape | undefined;
  #hasWork: boolean | undefined;
  #flat: Plan | undefined;

  constructor(planner: Planner, sources: readonly Schema[], parts: Facets, previous?: Plan, freeForm = false) {
    this.planner = planner;
    this.facets = parts.facets;
    this.choices = parts.choices;
    this.never = parts.never;
    this.freeForm = freeForm;
    this.types = collectTypes(parts.facets);
    this.guarded = parts.choices.length > 0 || hasKeyword(parts.facets, wholeKeywords);
    this.#constrained = this.never || parts.choices.length > 0 || hasKeyword(parts.facets, scalarKeywords);
    this.#sources = sources;
    this.previous = previous;
    this.#origin = previous === undefined ? undefined : (previous.#origin ?? previous);
  }

  get object(): ObjectShape {
    this.#objectShape ??= new ObjectShape(this);
    return this.#objectShape;
  }

  get array(): ArrayShape {
    this.#arrayShape ??= new ArrayShape(this);
    return this.#arrayShape;
  }

  /** Whether there can be anything to do about a value that fits. */
  get hasWork(): boolean {
    this.#hasWork ??= this.#sources.some((schema) => this.planner.hasWork(schema));
    return this.#hasWork;
  }

  /** Whether the facets describe an object, so that an instance of a class is read as one. */
  get describesObject(): boolean {
    return this.facets.some(describesObject);
  }

  /** Whether an object is described here, or anywhere below. */
  get describesObjects(): boolean {
    return this.#sources.some((schema) => this.planner.describesObjects(schema));
  }

  /** The same place without choices: what any of their branches says counts. */
  get flat(): Plan {
    this.#flat ??= this.planner.flat.planFor(this.#sources);
    return this.#flat;
  }

  /** Whether the value fits everything that applies here. */
  fits(value: unknown): boolean {
    if (this.#origin !== undefined) return this.#origin.fits(value);
    for (const source of this.#sources) if (!this.planner.checks.of(source)(value)) return false;
    return true;
  }

  /** The same as `fits` for a value that is neither an object nor an array. */
  fitsScalar(value: unknown): boolean {
    if (this.#origin !== undefined || this.#constrained) return this.fits(value);
    if (this.types === undefined) return true;
    switch (typeof value) {
      case "string":
        return this.types.has("string");
      case "number":
        return (
          (this.types.has("number") && Number.isFinite(value)) || (this.types.has("integer") && Number.isInteger(value))
        );
      case "boolean":
        return this.types.has("boolean");
      default:
        return value === null ? this.types.has("null") : this.fits(value);
    }
  }

  /** Whether a value of this kind can fit at all. */
  admits(type: "object" | "array"): boolean {
    return !this.never && (this.types === undefined || this.types.has(type));
  }

  /** The plan for what this value selects, without choices; `undefined` when no branch takes it. */
  select(value: unknown, valid: boolean): Plan | undefined {
    if (this.choices.length === 0) return this;
    const single = this.choices.length === 1 ? takeSingleBranch(this.choices[0]!, value, valid, this.planner) : -1;
    if (single >= 0) return this.#planForBranch(single).select(value, valid);
    const selection = selectBranches(this.choices, value, valid, this.planner);
    if (selection === undefined) return undefined;
    let plan = this.#selected.get(selection.key);
    if (plan === undefined) {
      plan = this.#planFor(selection.schemas, selection.alternatives);
      this.#selected.set(selection.key, plan);
    }
    return plan.select(value, valid);
  }

  #planForBranch(index: number): Plan {
    let plan = this.#byBranch[index];
    if (plan === undefined) {
      const { branches } = this.choices[0] as Extract<Choice, { kind: "anyOf" | "oneOf" }>;
      plan = this.#planFor([branches[index]!], [branches[index]!]);
      this.#byBranch[index] = plan;
    }
    return plan;
  }

  #planFor(schemas: readonly Schema[], alternatives: readonly Schema[]): Plan {
    const more = collectFacets(schemas, this.planner.checks, this.facets);
    const parts = { ...more, facets: [...this.facets, ...more.facets], never: this.never || more.never };
    const freeForm =
      this.freeForm ||
      (!this.facets.some(hasShape) && alternatives.some((branch) => isFreeForm(branch, this.planner.checks)));
    return new Plan(this.planner, [...this.#sources, ...schemas], parts, this, freeForm);
  }
}

/** Makes and keeps the plans of one document. */
export class Planner {
  readonly checks: SchemaChecks;
  readonly root: Plan;
  readonly #plans = new Map<string, Plan>();
  readonly #numbers = new Map<Schema, number>();
  readonly #work = new Map<Schema, boolean>();
  readonly #objects = new Map<Schema, boolean>();
  readonly #types = new Map<Schema, ReadonlySet<string> | undefined>();
  readonly #isFlat: boolean;
  #flat: Planner | undefined;

  constructor(schema: TSchema | SchemaChecks, isFlat = false) {
    this.checks = schema instanceof SchemaChecks ? schema : new SchemaChecks(schema);
    this.#isFlat = isFlat;
    this.root = this.planFor([this.checks.root]);
  }

  /** The plan for values that all of these schemas apply to. The same schemas give the same plan. */
  planFor(schemas: readonly Schema[]): Plan {
    const sources = [...new Set(schemas)];
    const key = sources.map((schema) => this.#numberOf(schema)).join();
    let plan = this.#plans.get(key);
    if (plan === undefined) {
      plan = new Plan(this, sources, collectFacets(sources, this.checks, undefined, this.#isFlat));
      this.#plans.set(key, plan);
    }
    return plan;
  }

  /** Plans of the same document in which every branch of a choice is a facet. */
  get flat(): Planner {
    if (this.#isFlat) return this;
    this.#flat ??= new Planner(this.checks, true);
    return this.#flat;
  }

  /** Whether this schema, or anything below it, describes an object. */
  describesObjects(schema: Schema): boolean {
    let found = this.#objects.get(schema);
    if (found === undefined) {
      found = reaches(schema, this.checks, describesObject);
      this.#objects.set(schema, found);
    }
    return found;
  }

  /** Whether anything below this schema can strip or fill. */
  hasWork(schema: Schema): boolean {
    let work = this.#work.get(schema);
    if (work === undefined) {
      work = reaches(schema, this.checks, (part) => Object.hasOwn(part, "default") || canStrip(part));
      this.#work.set(schema, work);
    }
    return work;
  }

  /** The type names that a schema allows; `undefined` when it says nothing about types. */
  typesOf(schema: Schema): ReadonlySet<string> | undefined {
    let types = this.#types.get(schema);
    if (types === undefined && !this.#types.has(schema)) {
      types = collectTypes(collectFacets([schema], this.checks).facets);
      this.#types.set(schema, types);
    }
    return types;
  }

  #numberOf(schema: Schema): number {
    let number = this.#numbers.get(schema);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(schema, number);
    }
    return number;
  }
}

function hasKeyword(facets: readonly SchemaObject[], keywords: ReadonlySet<string>): boolean {
  for (const facet of facets) for (const keyword of keywords) if (facet[keyword] !== undefined) return true;
  return false;
}

// Applicators that describe no part of the value, or that only judge it.
const notFollowed = new Set(["$defs", "definitions", "not", "contains", "propertyNames", "contentSchema"]);

/** Whether normalising can come from this schema to one that the test holds for. */
export function reaches(start: Schema, checks: SchemaChecks, test: (schema: SchemaObject) => boolean): boolean {
  const seen = new Set<unknown>();
  const pending: unknown[] = [start];
  while (pending.length > 0) {
    const schema = pending.pop();
    if (!isRecord(schema) || seen.has(schema)) continue;
    seen.add(schema);
    if (test(schema)) return true;
    pending.push(...checks.resolveAll(schema));
    forEachSubschema(schema, (subschema, keyword) => {
      if (!notFollowed.has(keyword)) pending.push(subschema);
    });
  }
  return false;
}

const objectKeywords = "properties patternProperties additionalProperties unevaluatedProperties required".split(" ");

function describesObject(schema: SchemaObject): boolean {
  const { type } = schema;
  if (type === "object" || (Array.isArray(type) && type.includes("object"))) return true;
  return type === undefined && objectKeywords.some((keyword) => schema[keyword] !== undefined);
}

function canStrip(schema: SchemaObject): boolean {
  const keepsRest = isOpen(schema["additionalProperties"]) || isOpen(schema["unevaluatedProperties"]);
  return hasShape(schema) && !keepsRest;
}

function isOpen(rest: unknown): boolean {
  return rest === true || isRecord(rest);
}
