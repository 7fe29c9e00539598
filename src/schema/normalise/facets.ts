import { isRecord, type SchemaObject } from "../keywords.ts";
import type { Schema, SchemaChecks } from "./schema-checks.ts";

/** A place where the value decides which schemas apply. */
export type Choice =
  | { kind: "anyOf" | "oneOf"; branches: readonly Schema[] }
  | { kind: "if"; condition: Schema; positive: Schema; negative: Schema }
  | { kind: "dependent"; key: string; schema: Schema };

/** Everything that applies to one value at once. */
export interface Facets {
  /** Schema objects that all apply: the schema itself, what it refers to, the members of `allOf`. */
  readonly facets: readonly SchemaObject[];
  readonly choices: readonly Choice[];
  /** One of the schemas is `false`. */
  readonly never: boolean;
}

/**
 * Takes schemas that all apply apart. What is in `known` applies already and is left out, with its choices. `isFlat`
 * takes every branch of every choice for a facet instead, for what is true of a value whatever it selects.
 */
export function collectFacets(
  schemas: readonly Schema[],
  checks: SchemaChecks,
  known?: readonly SchemaObject[],
  isFlat = false,
): Facets {
  const seen = new Set<SchemaObject>(known);
  const facets: SchemaObject[] = [];
  const choices: Choice[] = [];
  let never = false;
  const add = (schema: unknown): void => {
    if (schema === false) never = true;
    if (!isRecord(schema) || seen.has(schema)) return;
    seen.add(schema);
    facets.push(schema);
    for (const target of checks.resolveAll(schema)) add(target);
    if (Array.isArray(schema["allOf"])) for (const member of schema["allOf"]) add(member);
    addChoices(schema, choices);
    if (isFlat) for (const choice of choices.splice(0)) for (const branch of branchesOf(choice)) add(branch);
  };
  for (const schema of schemas) add(schema);
  return { facets, choices, never };
}

function branchesOf(choice: Choice): readonly Schema[] {
  if (choice.kind === "if") return [choice.condition, choice.positive, choice.negative];
  return choice.kind === "dependent" ? [choice.schema] : choice.branches;
}

function addChoices(schema: SchemaObject, choices: Choice[]): void {
  for (const kind of ["anyOf", "oneOf"] as const) {
    if (Array.isArray(schema[kind])) choices.push({ kind, branches: schema[kind] });
  }
  if (isSchema(schema["if"])) {
    const positive = isSchema(schema["then"]) ? schema["then"] : true;
    const negative = isSchema(schema["else"]) ? schema["else"] : true;
    choices.push({ kind: "if", condition: schema["if"], positive, negative });
  }
  for (const keyword of ["dependentSchemas", "dependencies"]) {
    const dependents = schema[keyword];
    if (!isRecord(dependents)) continue;
    for (const key of Object.keys(dependents)) {
      const dependent = dependents[key];
      if (isSchema(dependent)) choices.push({ kind: "dependent", key, schema: dependent });
    }
  }
}

function isSchema(value: unknown): value is Schema {
  return isRecord(value) || typeof value === "boolean";
}

/** The type names that all facets allow; `undefined` when none of them says anything. */
export function collectTypes(facets: readonly SchemaObject[]): ReadonlySet<string> | undefined {
  let types: string[] | undefined;
  for (const facet of facets) {
    const own = typeof facet["type"] === "string" ? [facet["type"]] : facet["type"];
    if (!Array.isArray(own)) continue;
    types = types === undefined ? (own as string[]) : intersect(types, own as string[]);
  }
  return types && new Set(types);
}

function intersect(left: readonly string[], right: readonly string[]): string[] {
  const both = left.filter((type) => right.includes(type) || (type === "integer" && right.includes("number")));
  if (left.includes("number") && right.includes("integer") && !both.includes("integer")) both.push("integer");
  return both;
}
