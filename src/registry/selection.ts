import { createGlobs } from "../internal/globs.ts";
import type { OperationSpec } from "../operation/index.ts";
import type { OperationSelection } from "./types.ts";

/** Returns whether an operation is selected. */
export type Selector = (operation: { readonly id: string; readonly spec: OperationSpec }) => boolean;

const tagPrefix = "tag:";

/** Compiles `include` and `exclude`. Throws a `TypeError` unless the patterns are arrays of strings. */
export function createSelector({ include, exclude }: OperationSelection): Selector {
  const isIncluded = include === undefined ? () => true : createMatcher("include", include);
  const isExcluded = exclude === undefined ? () => false : createMatcher("exclude", exclude);
  return (operation) => isIncluded(operation) && !isExcluded(operation);
}

function createMatcher(option: "include" | "exclude", patterns: readonly string[]): Selector {
  if (!Array.isArray(patterns) || !patterns.every((pattern) => typeof pattern === "string")) {
    throw new TypeError(`"${option}" must be an array of strings, such as ["task.*", "tag:admin"].`);
  }
  const matchesId = createGlobs(patterns.filter((pattern) => !pattern.startsWith(tagPrefix)));
  const tagPatterns = patterns.filter((pattern) => pattern.startsWith(tagPrefix));
  const matchesTag = createGlobs(tagPatterns.map((pattern) => pattern.slice(tagPrefix.length)));
  return ({ id, spec }) => matchesId(id) || (spec.tags ?? []).some(matchesTag);
}
