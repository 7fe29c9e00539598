import MiniSearch from "minisearch";
import { toQueryTerms, toStems } from "../internal/words.ts";
import { checkScopes, type OperationSpec, resolveCount, toIdentity } from "../operation/inside.ts";
import type { OperationEntry } from "./operation-entry.ts";
import type { SearchOptions } from "./types.ts";

/** Maximum number of indexed characters of a field. Limits the cost of a long description. */
const maxFieldLength = 1_000;
/** Maximum number of characters of a query, which may arrive from a network. */
const maxQueryLength = 10_000;
/** Shorter words match whole words only: too many words begin with the same two letters. */
const minPrefixLength = 3;
/** Exceeds all other scores: an operation whose id or name equals the query ranks first. */
const exactNameBonus = 1_000_000;
/** Added to the score of a result, as a multiple of it, if the query has all words of its name and title. */
const coverageBonus = 12;

/** The indexed fields with their weights. */
const boost = { label: 4, namespace: 2, tags: 1.5, description: 1 };

/**
 * Finds operations by words and ranks them: a rare word weighs more than a common one (BM25), a word in a name or title
 * more than one in a description, and a whole word more than a synonym. Those rank first whose name and title have few
 * words besides those of the query. Call `add` and `remove` when an operation of the registry changes.
 */
export class SearchIndex {
  /** The operations of the registry, in its order. */
  readonly #operations: ReadonlyMap<string, OperationEntry>;
  readonly #index = new MiniSearch({
    fields: Object.keys(boost),
    storeFields: ["labelSize"],
    tokenize: toStems,
    searchOptions: { boost, weights: { prefix: 1, fuzzy: 0 } },
  });

  constructor(operations: ReadonlyMap<string, OperationEntry>) {
    this.#operations = operations;
    this.#index.addAll(Array.from(operations.values(), toDocument));
  }

  add(entry: OperationEntry): void {
    this.#index.add(toDocument(entry));
  }

  remove(entry: OperationEntry): void {
    this.#index.remove(toDocument(entry));
  }

  /** Returns the operations that match any word of the query, best first. An empty query returns all in order. */
  search(query: string, options: SearchOptions = {}): OperationSpec[] {
    const limit = resolveCount("limit", options.limit, Number.POSITIVE_INFINITY, { min: 0, infinite: true });
    const isVisible = createFilter(options);
    const words = query.slice(0, maxQueryLength).trim();
    const exact = words.toLowerCase();
    const isExact = (name: string) => name.length === exact.length && name.toLowerCase() === exact;
    const scores = this.#score(words);
    const found: Array<{ spec: OperationSpec; score: number }> = [];
    for (const { id, spec } of this.#operations.values()) {
      const score = (scores.get(id) ?? 0) + (isExact(id) || isExact(spec.name) ? exactNameBonus : 0);
      if ((score > 0 || words === "") && isVisible(spec)) found.push({ spec, score });
    }
    found.sort((a, b) => b.score - a.score); // Equal results remain in the order of the registry.
    return found.slice(0, limit).map(({ spec }) => spec);
  }

  #score(query: string): Map<string, number> {
    const weights = toQueryTerms(query);
    const results = this.#index.search(query, {
      tokenize: () => [...weights.keys()],
      boostTerm: (stem) => weights.get(stem)!,
      prefix: (stem) => weights.get(stem) === 1 && stem.length >= minPrefixLength,
    });
    const scores = new Map<string, number>();
    for (const { id, score, match, labelSize } of results) {
      let covered = 0;
      for (const [stem, fields] of Object.entries(match)) {
        if (fields.includes("label")) covered += weights.get(stem) ?? 1;
      }
      scores.set(id, score * (1 + coverageBonus * (covered / labelSize) ** 2));
    }
    return scores;
  }
}

/** Returns the fields of an operation. Its name and title are one field, because they have many words in common. */
function toDocument({ id, spec: { name, title = "", namespace, tags = [], description } }: OperationEntry) {
  const label = `${name} ${title}`.slice(0, maxFieldLength);
  return {
    id,
    label,
    labelSize: Math.max(1, new Set(toStems(label)).size), // A name may have no word.
    namespace,
    tags: tags.join(" ").slice(0, maxFieldLength),
    description: description.slice(0, maxFieldLength),
  };
}

function createFilter({ namespace, tag, identity }: SearchOptions): (spec: OperationSpec) => boolean {
  const reader = identity === undefined ? undefined : toIdentity(identity);
  return (spec) =>
    (namespace === undefined || spec.namespace === namespace) &&
    (tag === undefined || spec.tags?.includes(tag) === true) &&
    (identity === undefined || checkScopes(spec.accessControl, reader) === true);
}
