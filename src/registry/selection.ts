import { createGlobs } from "../internal/globs.ts";
import type { OperationSpec } from "../operation/index.ts";
import type { OperationSelection, SearchQuery } from "./types.ts";

/** Whether an operation is chosen. */
export type Selector = (operation: { readonly id: string; readonly spec: OperationSpec }) => boolean;

const tagPrefix = "tag:";

/** Compiles `include` and `exclude`. Throws a `TypeError` for patterns that are not strings in an array. */
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

/** Finds specs that match every given part of the query. Best first; equal ones in the order they were added. */
export function searchSpecs(specs: Iterable<OperationSpec>, query: string | SearchQuery): OperationSpec[] {
  const { text, tag, namespace } = typeof query === "string" ? { text: query } : query;
  const words = (text ?? "")
    .toLowerCase()
    .split(/[\s.,_/-]+/u)
    .filter((word) => word !== "");
  const found: Array<{ spec: OperationSpec; score: number }> = [];
  for (const spec of specs) {
    if (namespace !== undefined && spec.namespace !== namespace) continue;
    if (tag !== undefined && !spec.tags?.includes(tag)) continue;
    const score = scoreOf(spec, words);
    if (score > 0) found.push({ spec, score });
  }
  return found.sort((a, b) => b.score - a.score).map(({ spec }) => spec);
}

/** 0 when a word is found nowhere; names count more than titles, titles more than descriptions. */
function scoreOf(spec: OperationSpec, words: string[]): number {
  const name = spec.name.toLowerCase();
  const places: Array<[text: string, weight: number]> = [
    [name, 8],
    [spec.namespace.toLowerCase(), 4],
    [(spec.title ?? "").toLowerCase(), 4],
    [(spec.tags ?? []).join(" ").toLowerCase(), 2],
    [spec.description.toLowerCase(), 1],
  ];
  let score = 1;
  for (const word of words) {
    let best = word === name ? 16 : 0;
    for (const [text, weight] of places) if (weight > best && text.includes(word)) best = weight;
    if (best === 0) return 0;
    score += best;
  }
  return score;
}
