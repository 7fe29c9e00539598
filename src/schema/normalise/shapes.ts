import { isObject } from "../../internal/objects.ts";
import type { SchemaObject } from "../keywords.ts";
import { toLinearPattern } from "../linear-pattern.ts";
import { isSchema } from "./choices.ts";
import { isInheritedName } from "./parts.ts";
import type { Plan } from "./plan.ts";
import type { Schema } from "./schema-document.ts";

/** The rules of a plan for the items of an array. */
export class ArrayShape {
  /** The plans of the first items, if positions have their own schemas. */
  readonly prefix: readonly Plan[];
  /** The plan of all further items. */
  readonly rest: Plan;

  constructor({ schemas, planner }: Plan) {
    const rules = schemas.map(({ items, prefixItems, additionalItems }) => {
      const prefix: Schema[] = Array.isArray(items) ? items : Array.isArray(prefixItems) ? prefixItems : [];
      const rest = Array.isArray(items) ? additionalItems : items;
      return { prefix, rest };
    });
    const length = Math.max(0, ...rules.map(({ prefix }) => prefix.length));
    const planAt = (index: number) =>
      planner.planFor(rules.map(({ prefix, rest }) => (index < prefix.length ? prefix[index] : rest)).filter(isSchema));
    this.prefix = Array.from({ length }, (_, index) => planAt(index));
    this.rest = planAt(length);
  }

  /** Returns the plan of the item at an index. */
  planAt(index: number): Plan {
    return index < this.prefix.length ? this.prefix[index]! : this.rest;
  }
}

/** A property that is required or has a default. */
export interface ExpectedProperty {
  key: string;
  plan: Plan;
  isRequired: boolean;
  /** Whether every object inherits a value of this name. */
  isInherited: boolean;
}

interface PropertyRules {
  properties: SchemaObject | undefined;
  patterns: Array<{ test: (key: string) => boolean; schema: Schema }>;
  rest: Schema | undefined;
}

/** The rules of a plan for the properties of an object. */
export class ObjectShape {
  /** Whether a property is declared by name or pattern, or the object is closed. */
  readonly hasShape: boolean;
  /** The properties that are declared by name. Includes names that are only required, because they must not be stripped. */
  readonly declared: ReadonlyMap<string, Plan>;
  readonly expected: readonly ExpectedProperty[];
  /** The expected properties that a valid object may lack. */
  readonly fillable: readonly ExpectedProperty[];
  readonly hasPatterns: boolean;
  /** The plan of undeclared properties of a shape without patterns; `undefined` if these are unknown. */
  readonly rest: Plan | undefined;

  readonly #plan: Plan;
  readonly #rules: readonly PropertyRules[];
  readonly #unevaluated: Schema[];
  readonly #keepsUnknown: boolean;
  readonly #byPattern = new Map<string, Plan | undefined>();

  constructor(plan: Plan) {
    const { schemas } = plan;
    this.#plan = plan;
    this.#rules = schemas.map((schema) => readRules(schema, plan.planner.document.isForeign));
    this.#unevaluated = schemas.map((schema) => schema["unevaluatedProperties"]).filter(isOpen);
    this.hasShape = schemas.some(hasShape);
    this.#keepsUnknown = plan.isFreeForm || !this.hasShape;
    this.hasPatterns = this.#rules.some(({ patterns }) => patterns.length > 0);
    const required = new Set<string>(schemas.flatMap((schema) => readNames(schema["required"])));
    const keys = new Set([...this.#rules.flatMap(({ properties }) => Object.keys(properties ?? {})), ...required]);
    this.declared = new Map([...keys].map((key) => [key, this.#childPlan(key, true)!]));
    this.rest = this.hasPatterns ? undefined : this.#childPlan(undefined);
    this.expected = [...this.declared]
      .map(([key, child]) => ({ key, plan: child, isRequired: required.has(key), isInherited: isInheritedName(key) }))
      .filter(({ plan: child, isRequired }) => isRequired || child.hasDefault);
    this.fillable = this.expected.filter(({ plan: child, isInherited }) => isInherited || child.hasDefault);
  }

  /** Returns the plan of a property's value; `undefined` for an unknown property. */
  childOf(key: string): Plan | undefined {
    const declared = this.declared.get(key);
    if (declared !== undefined) return declared;
    if (!this.hasPatterns) return this.rest;
    const matches = this.#matches(key);
    if (!this.#byPattern.has(matches)) this.#byPattern.set(matches, this.#childPlan(key));
    return this.#byPattern.get(matches);
  }

  /** Returns whether the property is declared by name or pattern. */
  declares(key: string): boolean {
    return this.declared.has(key) || (this.hasPatterns && this.#matches(key).includes("1"));
  }

  #matches(key: string): string {
    let matches = "";
    for (const { patterns } of this.#rules) for (const pattern of patterns) matches += pattern.test(key) ? "1" : "0";
    return matches;
  }

  /** @param key - `undefined` for all undeclared keys */
  #childPlan(key: string | undefined, isKnown = this.#keepsUnknown): Plan | undefined {
    const schemas: Schema[] = [];
    let isEvaluated = false;
    for (const { properties, patterns, rest } of this.#rules) {
      const own = key === undefined ? [] : patterns.filter(({ test }) => test(key)).map(({ schema }) => schema);
      if (key !== undefined && properties !== undefined && Object.hasOwn(properties, key)) {
        own.unshift(properties[key] as Schema);
      }
      if (own.length === 0 && rest !== undefined) schemas.push(rest);
      schemas.push(...own);
      isEvaluated ||= own.length > 0 || (rest !== undefined && rest !== false);
    }
    if (!isEvaluated && this.#unevaluated.length > 0) {
      schemas.push(...this.#unevaluated);
      isEvaluated = true;
    }
    return isEvaluated || isKnown ? this.#plan.planner.planFor(schemas) : undefined;
  }
}

/** Returns whether a schema declares the properties of an object. `properties: {}` alone declares nothing. */
export function hasShape(schema: SchemaObject): boolean {
  return (
    schema["additionalProperties"] === false ||
    schema["unevaluatedProperties"] === false ||
    hasKeys(schema["properties"]) ||
    hasKeys(schema["patternProperties"])
  );
}

/** Returns whether normalising can strip properties of objects that this schema alone describes. */
export function canStrip(schema: SchemaObject): boolean {
  return hasShape(schema) && !isOpen(schema["additionalProperties"]) && !isOpen(schema["unevaluatedProperties"]);
}

function hasKeys(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length > 0;
}

function isOpen(rest: unknown): rest is Schema {
  return rest === true || isObject(rest);
}

function readNames(names: unknown): string[] {
  return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
}

function readRules(schema: SchemaObject, isForeign: boolean): PropertyRules {
  const { properties, patternProperties = {}, additionalProperties } = schema;
  const patterns = isObject(patternProperties) ? Object.keys(patternProperties) : [];
  return {
    properties: isObject(properties) ? properties : undefined,
    patterns: patterns.map((pattern) => ({
      test: createTest(pattern, isForeign),
      schema: (patternProperties as SchemaObject)[pattern] as Schema,
    })),
    rest: isSchema(additionalProperties) ? additionalProperties : undefined,
  };
}

function createTest(pattern: string, isForeign: boolean): (key: string) => boolean {
  const linear = isForeign ? toLinearPattern(pattern) : { test: new RegExp(pattern, "u") };
  if ("test" in linear) return (key) => linear.test.test(key);
  // A pattern that cannot run safely may match any name.
  return () => true;
}
