import { isObject } from "../../internal/objects.ts";
import type { SchemaObject } from "../keywords.ts";
import type { Schema, SchemaDocument } from "./schema-document.ts";

/** A keyword whose applicable schemas depend on the value. */
export type Choice =
  | { kind: "anyOf" | "oneOf"; branches: readonly Schema[] }
  | { kind: "if"; condition: Schema; positive: Schema; negative: Schema }
  | { kind: "dependent"; key: string; schema: Schema };

/** The schemas that apply to one value together. */
export interface ApplicableSchemas {
  /** The schema itself, the targets of its references, and the members of `allOf`. */
  readonly schemas: readonly SchemaObject[];
  readonly choices: readonly Choice[];
  /** Whether one of the schemas is `false`. */
  readonly never: boolean;
}

/** Options of {@link collectApplicable}. */
interface CollectOptions {
  /** Schemas that are omitted together with their choices, because they apply already. */
  known?: readonly SchemaObject[];
  /** Whether all branches of a choice are added as schemas, for statements that are true for every branch. */
  isFlat?: boolean;
}

/** Collects the schemas that apply to every value that all of the given schemas apply to. */
export function collectApplicable(
  given: readonly Schema[],
  document: SchemaDocument,
  { known, isFlat }: CollectOptions = {},
): ApplicableSchemas {
  const seen = new Set<SchemaObject>(known);
  const schemas: SchemaObject[] = [];
  const choices: Choice[] = [];
  let never = false;
  const add = (schema: unknown): void => {
    if (schema === false) never = true;
    if (!isObject(schema) || seen.has(schema)) return;
    seen.add(schema);
    schemas.push(schema);
    for (const target of document.resolveAll(schema)) add(target);
    if (Array.isArray(schema["allOf"])) for (const member of schema["allOf"]) add(member);
    addChoices(schema, choices);
    if (isFlat) for (const choice of choices.splice(0)) for (const branch of branchesOf(choice)) add(branch);
  };
  for (const schema of given) add(schema);
  return { schemas, choices, never };
}

/** Returns all schemas of a choice. */
export function branchesOf(choice: Choice): readonly Schema[] {
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
    if (!isObject(dependents)) continue;
    for (const key of Object.keys(dependents)) {
      const dependent = dependents[key];
      if (isSchema(dependent)) choices.push({ kind: "dependent", key, schema: dependent });
    }
  }
}

/** Returns whether a value can be a schema, as opposed to a list of names or a missing keyword. */
export function isSchema(value: unknown): value is Schema {
  return isObject(value) || typeof value === "boolean";
}

/** Returns the type names that all schemas allow; `undefined` when none of them restricts the type. */
export function collectTypes(schemas: readonly SchemaObject[]): ReadonlySet<string> | undefined {
  let types: string[] | undefined;
  for (const { type } of schemas) {
    const own = typeof type === "string" ? [type] : type;
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

/** The schemas that a value selected. */
export interface Selection {
  /** Identifies the selected branches. */
  key: string;
  schemas: Schema[];
  /** The selected branches of `anyOf` and `oneOf`. */
  alternatives: Schema[];
}

/** The information about branches that a selection needs. */
export interface BranchSource {
  readonly document: SchemaDocument;
  /** Returns the type names that a branch allows; `undefined` when it does not restrict the type. */
  typesOf(branch: Schema): ReadonlySet<string> | undefined;
}

/**
 * Returns the index of the only branch of an `anyOf` or `oneOf` that accepts the value, without allocating; -1 when none
 * or several do. Nearly all data takes this path.
 */
export function findSingleBranch(choice: Choice, value: unknown, valid: boolean, source: BranchSource): number {
  if (choice.kind !== "anyOf" && choice.kind !== "oneOf") return -1;
  const { branches } = choice;
  let [candidates, candidate] = [0, -1];
  for (let index = 0; index < branches.length; index++) {
    if (!admitsKind(source.typesOf(branches[index]!), value)) continue;
    candidates++;
    candidate = index;
  }
  // A valid value matches at least one branch, so a single candidate must match.
  if (valid && candidates === 1) return candidate;
  let found = -1;
  for (let index = 0; index < branches.length; index++) {
    const branch = branches[index]!;
    if (!admitsKind(source.typesOf(branch), value) || !source.document.checkOf(branch)(value)) continue;
    if (found >= 0) return -1;
    found = index;
  }
  return found;
}

/** Returns the branches that a value selects in every choice; `undefined` when an `anyOf` or `oneOf` does not accept it. */
export function selectBranches(
  choices: readonly Choice[],
  value: unknown,
  valid: boolean,
  source: BranchSource,
): Selection | undefined {
  const selection: Selection = { key: "", schemas: [], alternatives: [] };
  for (const choice of choices) {
    if (choice.kind === "if") {
      const holds = source.document.checkOf(choice.condition)(value);
      selection.key += holds ? "t" : "f";
      selection.schemas.push(...(holds ? [choice.condition, choice.positive] : [choice.negative]));
    } else if (choice.kind === "dependent") {
      const applies = typeof value === "object" && value !== null && Object.hasOwn(value, choice.key);
      selection.key += applies ? "t" : "f";
      if (applies) selection.schemas.push(choice.schema);
    } else {
      const single = findSingleBranch(choice, value, valid, source);
      const indexes = single >= 0 ? [single] : findBranches(choice.kind, choice.branches, value, source);
      if (indexes === undefined) return undefined;
      selection.key += `[${indexes.join()}]`;
      const selected = indexes.map((index) => choice.branches[index]!);
      selection.schemas.push(...selected);
      selection.alternatives.push(...selected);
    }
  }
  return selection;
}

/** Finds the branches for a value that none or several of them accept. */
function findBranches(
  kind: "anyOf" | "oneOf",
  branches: readonly Schema[],
  value: unknown,
  source: BranchSource,
): number[] | undefined {
  const indexes = [...branches.keys()];
  const passing = indexes.filter((index) => source.document.checkOf(branches[index]!)(value));
  if (passing.length > 0) return kind === "anyOf" ? passing : undefined;
  // "X or null" means X for every value but null: an invalid value can still be repaired.
  const others = value === null ? [] : indexes.filter((index) => !isNull(branches[index]!, source));
  return others.length === 1 ? others : undefined;
}

function isNull(branch: Schema, source: BranchSource): boolean {
  if (typeof branch === "object" && branch["const"] === null) return true;
  const types = source.typesOf(branch);
  return types?.size === 1 && types.has("null");
}

/** Returns whether a value of this type can be valid. */
export function admitsKind(types: ReadonlySet<string> | undefined, value: unknown): boolean {
  if (types === undefined) return true;
  switch (typeof value) {
    case "string":
    case "boolean":
      return types.has(typeof value);
    case "number":
      return types.has("number") || types.has("integer");
    case "object":
      return types.has(value === null ? "null" : Array.isArray(value) ? "array" : "object");
    default:
      return true;
  }
}
