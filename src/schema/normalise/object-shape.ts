import { isRecord, type SchemaObject } from "../keywords.ts";
import { toLinearPattern } from "../linear-pattern.ts";
import { isInheritedName } from "./plain.ts";
import type { Plan } from "./plan.ts";
import type { Schema } from "./schema-checks.ts";

/** A property that has to be there or is filled when it is missing. */
export interface WantedProperty {
  key: string;
  plan: Plan;
  required: boolean;
  inherited: boolean;
}

interface PropertyRules {
  properties: SchemaObject | undefined;
  patterns: Array<{ test: (key: string) => boolean; schema: Schema }>;
  rest: Schema | undefined;
}

/** What the facets of a plan say about the properties of an object. */
export class ObjectShape {
  /** Whether properties that no facet knows stay. */
  readonly keepsUnknown: boolean;
  /** Whether any property is declared by name or pattern, or the object is closed. */
  readonly shaped: boolean;
  /** The properties that are declared by name. A name that is only required counts too: it must not be stripped. */
  readonly declared: ReadonlyMap<string, Plan>;
  readonly wanted: readonly WantedProperty[];
  /** Those of them that an object may lack although it fits. */
  readonly fillable: readonly WantedProperty[];
  readonly hasPatterns: boolean;
  /** The plan of every property that is not declared when there are no patterns; `undefined`: it is unknown. */
  readonly rest: Plan | undefined;

  readonly #plan: Plan;
  readonly #rules: readonly PropertyRules[];
  readonly #unevaluated: Schema[];
  readonly #byPattern = new Map<string, Plan | undefined>();

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#rules = plan.facets.map((facet) => readRules(facet, plan.planner.checks.isForeign));
    this.#unevaluated = plan.facets.map((facet) => facet["unevaluatedProperties"]).filter(isOpen);
    this.shaped = plan.facets.some(hasShape);
    this.keepsUnknown = plan.freeForm || !this.shaped;
    this.hasPatterns = this.#rules.some((rules) => rules.patterns.length > 0);
    const required = readRequired(plan.facets);
    const keys = new Set([...this.#rules.flatMap((rules) => Object.keys(rules.properties ?? {})), ...required]);
    this.declared = new Map([...keys].map((key) => [key, this.#childPlan(key, true)!]));
    this.rest = this.hasPatterns ? undefined : this.#childPlan(undefined);
    this.wanted = [...this.declared]
      .filter(([key, child]) => required.has(key) || hasDefault(child))
      .map(([key, child]) => ({ key, plan: child, required: required.has(key), inherited: isInheritedName(key) }));
    this.fillable = this.wanted.filter(({ plan: child, inherited }) => inherited || hasDefault(child));
  }

  /** The plan for the value of a property; `undefined` when nothing knows the property. */
  childOf(key: string): Plan | undefined {
    const declared = this.declared.get(key);
    if (declared !== undefined) return declared;
    return this.hasPatterns ? this.#childByPattern(key) : this.rest;
  }

  /** Whether the property is declared by name or pattern. */
  declares(key: string): boolean {
    return this.declared.has(key) || (this.hasPatterns && this.#matches(key).includes("1"));
  }

  #childByPattern(key: string): Plan | undefined {
    const matches = this.#matches(key);
    if (!this.#byPattern.has(matches)) this.#byPattern.set(matches, this.#childPlan(key));
    return this.#byPattern.get(matches);
  }

  #matches(key: string): string {
    let matches = "";
    for (const { patterns } of this.#rules) for (const pattern of patterns) matches += pattern.test(key) ? "1" : "0";
    return matches;
  }

  /** For a key, or without one for any key that no facet declares. */
  #childPlan(key: string | undefined, known = this.keepsUnknown): Plan | undefined {
    const schemas: Schema[] = [];
    let evaluated = false;
    for (const { properties, patterns, rest } of this.#rules) {
      let own = false;
      if (key !== undefined && properties !== undefined && Object.hasOwn(properties, key)) {
        schemas.push(properties[key] as Schema);
        own = true;
      }
      for (const { test, schema } of patterns) {
        if (key === undefined || !test(key)) continue;
        schemas.push(schema);
        own = true;
      }
      if (!own && rest !== undefined) {
        schemas.push(rest);
        own = rest !== false;
      }
      evaluated ||= own;
    }
    if (!evaluated && this.#unevaluated.length > 0) {
      schemas.push(...this.#unevaluated);
      evaluated = true;
    }
    return evaluated || known ? this.#plan.planner.planFor(schemas) : undefined;
  }
}

/** Whether a schema says which properties an object has. `properties: {}` alone says nothing. */
export function hasShape(schema: SchemaObject): boolean {
  return (
    schema["additionalProperties"] === false ||
    schema["unevaluatedProperties"] === false ||
    hasKeys(schema["properties"]) ||
    hasKeys(schema["patternProperties"])
  );
}

function readRequired(facets: readonly SchemaObject[]): ReadonlySet<string> {
  const names = facets.flatMap(({ required }) => (Array.isArray(required) ? required : []));
  return new Set(names.filter((name) => typeof name === "string"));
}

/** Whether a default is declared for values of this plan. */
export function hasDefault(plan: Plan): boolean {
  return plan.facets.some((facet) => Object.hasOwn(facet, "default"));
}

function hasKeys(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length > 0;
}

function readRules(facet: SchemaObject, isForeign: boolean): PropertyRules {
  const { properties, patternProperties, additionalProperties } = facet;
  const patterns = isRecord(patternProperties)
    ? Object.keys(patternProperties).map((pattern) => ({
        test: createTest(pattern, isForeign),
        schema: patternProperties[pattern] as Schema,
      }))
    : [];
  return {
    properties: isRecord(properties) ? properties : undefined,
    patterns,
    rest:
      isRecord(additionalProperties) || typeof additionalProperties === "boolean" ? additionalProperties : undefined,
  };
}

function createTest(pattern: string, isForeign: boolean): (key: string) => boolean {
  const linear = isForeign ? toLinearPattern(pattern) : { test: new RegExp(pattern, "u") };
  if ("test" in linear) return (key) => linear.test.test(key);
  // What cannot be run safely could take any name.
  return () => true;
}

function isOpen(rest: unknown): rest is Schema {
  return rest === true || isRecord(rest);
}
