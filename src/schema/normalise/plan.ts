import type { TSchema } from "typebox";
import type { SchemaObject } from "../keywords.ts";
import {
  type ApplicableSchemas,
  type Choice,
  collectApplicable,
  collectTypes,
  findSingleBranch,
  selectBranches,
} from "./choices.ts";
import { type Schema, SchemaDocument } from "./schema-document.ts";
import { ArrayShape, canStrip, hasShape, ObjectShape } from "./shapes.ts";

// Assertions that a change inside an object or array can violate, or that concern more than one part.
const wholeKeywords = (
  "enum const not minProperties maxProperties propertyNames dependentRequired dependencies minItems maxItems " +
  "uniqueItems contains minContains maxContains unevaluatedItems unevaluatedProperties ~refine ~guard"
).split(" ");

const scalarKeywords = (
  "enum const not minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf " +
  "~refine ~guard"
).split(" ");

/** All schemas that apply to the values at one location of a document, and their combined rules. */
export class Plan {
  readonly planner: Planner;
  readonly schemas: readonly SchemaObject[];
  readonly choices: readonly Choice[];
  readonly never: boolean;
  /** The types that the schemas allow; `undefined` for all types. */
  readonly types: ReadonlySet<string> | undefined;
  /** Whether a change must be checked against the whole schema. */
  readonly needsWholeCheck: boolean;
  /** Whether a selected alternative accepts objects of any shape, so that no property is unknown. */
  readonly isFreeForm: boolean;
  /** The plan whose choices were decided to select this one; absent for a plan that was not selected. */
  readonly previous: Plan | undefined;

  readonly #sources: readonly Schema[];
  readonly #origin: Plan | undefined;
  readonly #isConstrained: boolean;
  readonly #selected = new Map<string, Plan>();
  readonly #byBranch: Plan[] = [];
  #objectShape: ObjectShape | undefined;
  #arrayShape: ArrayShape | undefined;
  #canChange: boolean | undefined;
  #flat: Plan | undefined;

  constructor(
    planner: Planner,
    sources: readonly Schema[],
    { schemas, choices, never }: ApplicableSchemas,
    previous?: Plan,
    isFreeForm = false,
  ) {
    this.planner = planner;
    this.schemas = schemas;
    this.choices = choices;
    this.never = never;
    this.isFreeForm = isFreeForm;
    this.types = collectTypes(schemas);
    this.needsWholeCheck = choices.length > 0 || usesKeyword(schemas, wholeKeywords);
    this.#isConstrained = never || choices.length > 0 || usesKeyword(schemas, scalarKeywords);
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

  /** Whether normalising can strip or fill a valid value. */
  get canChange(): boolean {
    this.#canChange ??= this.#sources.some((schema) => this.planner.canChange(schema));
    return this.#canChange;
  }

  /** Whether the schemas describe an object, so that a class instance is read as one. */
  get describesObject(): boolean {
    return this.schemas.some(describesObject);
  }

  /** Whether an object is described here or anywhere below. */
  get describesObjects(): boolean {
    return this.#sources.some((schema) => this.planner.describesObjects(schema));
  }

  /** The plan of the same location without choices: all branches apply. */
  get flat(): Plan {
    this.#flat ??= this.planner.flat.planFor(this.#sources);
    return this.#flat;
  }

  /** Whether a default is declared here. */
  get hasDefault(): boolean {
    return this.declaredDefault !== undefined;
  }

  /** The default of the first schema that declares one. */
  get declaredDefault(): unknown {
    return this.schemas.find((schema) => Object.hasOwn(schema, "default") && schema["default"] !== undefined)?.[
      "default"
    ];
  }

  /** Returns whether all schemas that apply here accept the value. */
  isValid(value: unknown): boolean {
    if (this.#origin !== undefined) return this.#origin.isValid(value);
    for (const source of this.#sources) if (!this.planner.document.checkOf(source)(value)) return false;
    return true;
  }

  /** {@link isValid} for a value that is neither an object nor an array. */
  isValidScalar(value: unknown): boolean {
    if (this.#origin !== undefined || this.#isConstrained) return this.isValid(value);
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
        return value === null ? this.types.has("null") : this.isValid(value);
    }
  }

  /** Returns whether a value of this type can be valid. */
  admits(type: "object" | "array"): boolean {
    return !this.never && (this.types === undefined || this.types.has(type));
  }

  /** Returns the plan without choices that this value selects; `undefined` when no branch accepts it. */
  select(value: unknown, valid: boolean): Plan | undefined {
    if (this.choices.length === 0) return this;
    const single = this.choices.length === 1 ? findSingleBranch(this.choices[0]!, value, valid, this.planner) : -1;
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

  #planFor(selected: readonly Schema[], alternatives: readonly Schema[]): Plan {
    const { document } = this.planner;
    const more = collectApplicable(selected, document, { known: this.schemas });
    const isFreeForm =
      this.isFreeForm ||
      (!this.schemas.some(hasShape) && alternatives.some((branch) => acceptsAnyShape(branch, document)));
    const applicable = {
      schemas: [...this.schemas, ...more.schemas],
      choices: more.choices,
      never: this.never || more.never,
    };
    return new Plan(this.planner, [...this.#sources, ...selected], applicable, this, isFreeForm);
  }
}

/** Creates and keeps the plans of one document. */
export class Planner {
  readonly document: SchemaDocument;
  readonly root: Plan;
  /** Whether the plans have no choices, and all branches of a choice apply. */
  readonly isFlat: boolean;
  readonly #plans = new Map<string, Plan>();
  readonly #numbers = new Map<Schema, number>();
  readonly #canChange = new Map<Schema, boolean>();
  readonly #describesObjects = new Map<Schema, boolean>();
  readonly #types = new Map<Schema, ReadonlySet<string> | undefined>();
  #flat: Planner | undefined;

  constructor(schema: TSchema | SchemaDocument, isFlat = false) {
    this.document = schema instanceof SchemaDocument ? schema : new SchemaDocument(schema);
    this.isFlat = isFlat;
    this.root = this.planFor([this.document.root]);
  }

  /** Returns the plan for values that all of these schemas apply to, always the same one for the same schemas. */
  planFor(schemas: readonly Schema[]): Plan {
    const sources = [...new Set(schemas)];
    const key = sources.map((schema) => this.#numberOf(schema)).join();
    let plan = this.#plans.get(key);
    if (plan === undefined) {
      plan = new Plan(this, sources, collectApplicable(sources, this.document, { isFlat: this.isFlat }));
      this.#plans.set(key, plan);
    }
    return plan;
  }

  /** The planner of the same document without choices. */
  get flat(): Planner {
    if (this.isFlat) return this;
    this.#flat ??= new Planner(this.document, true);
    return this.#flat;
  }

  /** Returns whether this schema, or a schema below it, describes an object. */
  describesObjects(schema: Schema): boolean {
    return memoise(this.#describesObjects, schema, () => this.document.reaches(schema, describesObject));
  }

  /** Returns whether this schema, or a schema below it, can strip or fill. */
  canChange(schema: Schema): boolean {
    return memoise(this.#canChange, schema, () =>
      this.document.reaches(schema, (part) => Object.hasOwn(part, "default") || canStrip(part)),
    );
  }

  /** Returns the type names that a schema allows; `undefined` when it does not restrict the type. */
  typesOf(schema: Schema): ReadonlySet<string> | undefined {
    const types = this.#types.get(schema);
    if (types !== undefined || this.#types.has(schema)) return types;
    return memoise(this.#types, schema, () => collectTypes(collectApplicable([schema], this.document).schemas));
  }

  #numberOf(schema: Schema): number {
    return memoise(this.#numbers, schema, () => this.#numbers.size);
  }
}

function memoise<K, V>(results: Map<K, V>, key: K, make: () => V): V {
  if (!results.has(key)) results.set(key, make());
  return results.get(key) as V;
}

function usesKeyword(schemas: readonly SchemaObject[], keywords: readonly string[]): boolean {
  return schemas.some((schema) => keywords.some((keyword) => schema[keyword] !== undefined));
}

const objectKeywords = "properties patternProperties additionalProperties unevaluatedProperties required".split(" ");

function describesObject(schema: SchemaObject): boolean {
  const { type } = schema;
  if (type === "object" || (Array.isArray(type) && type.includes("object"))) return true;
  return type === undefined && usesKeyword([schema], objectKeywords);
}

const constraints = "required not enum const minProperties maxProperties propertyNames dependentRequired".split(" ");

/** Returns whether a branch accepts objects of any shape. A branch that only adds constraints does not count. */
function acceptsAnyShape(branch: Schema, document: SchemaDocument): boolean {
  const { schemas, choices, never } = collectApplicable([branch], document);
  if (never || choices.length > 0 || schemas.some(hasShape)) return false;
  const types = collectTypes(schemas);
  return types === undefined ? !usesKeyword(schemas, constraints) : types.has("object");
}
