import { type Choice, collectFacets, collectTypes } from "./facets.ts";
import { hasShape } from "./object-shape.ts";
import type { Schema, SchemaChecks } from "./schema-checks.ts";

/** The schemas that a value selected. */
export interface Selection {
  /** The same for the same selection. */
  key: string;
  schemas: Schema[];
  /** Those of them that come from `anyOf` and `oneOf`. */
  alternatives: Schema[];
}

/** What the selection asks about branches. */
export interface BranchSource {
  readonly checks: SchemaChecks;
  /** The type names that a branch allows; `undefined` when it says nothing about types. */
  typesOf(branch: Schema): ReadonlySet<string> | undefined;
}

/**
 * The index of the only branch of an `anyOf` or `oneOf` that takes the value, found without any allocation; -1 when
 * there is no single one. This is what nearly all data comes to.
 */
export function takeSingleBranch(choice: Choice, value: unknown, valid: boolean, source: BranchSource): number {
  if (choice.kind !== "anyOf" && choice.kind !== "oneOf") return -1;
  const { branches } = choice;
  let [candidates, candidate] = [0, -1];
  for (let index = 0; index < branches.length; index++) {
    if (!admitsKind(source.typesOf(branches[index]!), value)) continue;
    candidates++;
    candidate = index;
  }
  // One of them took the value, so the only one that can is the one.
  if (valid && candidates === 1) return candidate;
  let taken = -1;
  for (let index = 0; index < branches.length; index++) {
    const branch = branches[index]!;
    if (!admitsKind(source.typesOf(branch), value) || !source.checks.of(branch)(value)) continue;
    if (taken >= 0) return -1;
    taken = index;
  }
  return taken;
}

/** Lets a value decide every choice; `undefined` when an `anyOf` or `oneOf` does not take it. */
export function selectBranches(
  choices: readonly Choice[],
  value: unknown,
  valid: boolean,
  source: BranchSource,
): Selection | undefined {
  const selection: Selection = { key: "", schemas: [], alternatives: [] };
  for (const choice of choices) {
    if (choice.kind === "if") {
      const holds = source.checks.of(choice.condition)(value);
      selection.key += holds ? "t" : "f";
      selection.schemas.push(...(holds ? [choice.condition, choice.positive] : [choice.negative]));
    } else if (choice.kind === "dependent") {
      const applies = typeof value === "object" && value !== null && Object.hasOwn(value, choice.key);
      selection.key += applies ? "t" : "f";
      if (applies) selection.schemas.push(choice.schema);
    } else {
      const single = takeSingleBranch(choice, value, valid, source);
      const taken = single >= 0 ? [single] : takeBranches(choice.kind, choice.branches, value, source);
      if (taken === undefined) return undefined;
      selection.key += `[${taken.join()}]`;
      for (const index of taken) {
        selection.schemas.push(choice.branches[index]!);
        selection.alternatives.push(choice.branches[index]!);
      }
    }
  }
  return selection;
}

/** For a value that not exactly one branch takes. */
function takeBranches(
  kind: "anyOf" | "oneOf",
  branches: readonly Schema[],
  value: unknown,
  source: BranchSource,
): number[] | undefined {
  const passing = [...branches.keys()].filter((index) => source.checks.of(branches[index]!)(value));
  if (passing.length === 0) return onlyBranchBesideNull(branches, value, source);
  return kind === "anyOf" ? passing : undefined;
}

/** "X or null" is X for everything but null: what does not fit it can still be put right. */
function onlyBranchBesideNull(branches: readonly Schema[], value: unknown, source: BranchSource): number[] | undefined {
  if (value === null) return undefined;
  const others: number[] = [];
  for (let index = 0; index < branches.length; index++) {
    if (!isNull(branches[index]!, source)) others.push(index);
  }
  return others.length === 1 ? others : undefined;
}

function isNull(branch: Schema, source: BranchSource): boolean {
  if (typeof branch === "object" && branch["const"] === null) return true;
  const types = source.typesOf(branch);
  return types?.size === 1 && types.has("null");
}

/** Whether a value of this kind can fit at all. */
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

const constraints = "required not enum const minProperties maxProperties propertyNames dependentRequired".split(" ");

/** Whether a branch takes objects of any shape. One that only adds constraints to its surroundings does not count. */
export function isFreeForm(branch: Schema, checks: SchemaChecks): boolean {
  const { facets, choices, never } = collectFacets([branch], checks);
  if (never || choices.length > 0 || facets.some(hasShape)) return false;
  const types = collectTypes(facets);
  if (types !== undefined) return types.has("object");
  return !facets.some((facet) => constraints.some((keyword) => facet[keyword] !== undefined));
}
