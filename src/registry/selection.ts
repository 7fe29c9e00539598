import { createGlobs } from "../internal/globs.ts";
import type { OperationSpec } from "../operation/index.ts";
import type { OperationSelection } from "./types.ts";

/** Returns whether an operation is selected. */
export type Selector = (operation: { readonly id: string; readonly spec: Pick<OperationSpec, "tags"> }) => boolean;

const tagPrefix = "tag:";

/**
 * Compiles `include` and `exclude`. With `names`, patterns also match names without their namespace. Throws a `TypeError`
 * unless the patterns are arrays of strings.
 */
export function createSelector({ include, exclude }: OperationSelection, { names = false } = {}): Selector {
  const isIncluded = include === undefined ? () => true : createMatcher("include", include, names);
  const isExcluded = exclude === undefined ? () => false : createMatcher("exclude", exclude, names);
  return (operation) => isIncluded(operation) && !isExcluded(operation);
}

/** Compiles the patterns of one option. */
export function createMatcher(option: keyof OperationSelection, patterns: readonly string[], names: boolean): Selector {
  if (!Array.isArray(patterns) || !patterns.every((pattern) => typeof pattern === "string")) {
    throw new TypeError(`"${option}" must be an array of strings, such as ["task.*", "tag:admin"].`);
  }
  const matches = createGlobs(patterns.filter((pattern) => !pattern.startsWith(tagPrefix)));
  const tagPatterns = patterns.filter((pattern) => pattern.startsWith(tagPrefix));
  const matchesTag = createGlobs(tagPatterns.map((pattern) => pattern.slice(tagPrefix.length)));
  return ({ id, spec }) =>
    matches(id) || (names && matches(id.slice(id.indexOf(".") + 1))) || (spec.tags ?? []).some(matchesTag);
}
