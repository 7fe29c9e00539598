import { type QueryTerm, toQueryTerms, toStems, toTellingStems } from "../internal/words.ts";
import { checkScopes, type OperationSpec, resolveCount, toIdentity } from "../operation/inside.ts";
import type { OperationEntry } from "./operation-entry.ts";
import type { SearchOptions } from "./types.ts";

/** Maximum number of indexed characters of a field. Limits the cost of a long description. */
const maxFieldLength = 1_000;
/** Maximum number of characters of a query, which may arrive from a network. */
const maxQueryLength = 10_000;
/** Maximum number of words of a query. */
const maxQueryTerms = 32;
/** Shorter words match whole words only: too many words begin with the same two letters. */
const minPrefixLength = 3;
/** Exceeds the sum of all word scores: an operation whose id or name equals the query ranks first. */
const exactNameBonus = 1_000;
/** Weight of a match with a synonym. That of the word itself is 1. */
const synonymLikeness = 0.5;
/** Weight of a match with a word that may mean the same. */
const relatedLikeness = 0.1;
/** Number of results whose names and titles are compared with the query. Limits the cost of a search. */
const maxCompared = 30;
/** Added to the score of a result, as a multiple of it, if the query has all words of its name and title. */
const coverageBonus = 2;

/** The fields with their weights. In a field longer than `usualLength` words, a match weighs less. */
const fields: ReadonlyArray<{ weight: number; usualLength: number; read(spec: OperationSpec): string | undefined }> = [
  { weight: 4, usualLength: 3, read: ({ name }) => name },
  { weight: 4, usualLength: 5, read: ({ title }) => title },
  { weight: 2, usualLength: 1, read: ({ namespace }) => namespace },
  { weight: 1.5, usualLength: 1, read: ({ tags }) => tags?.join(" ") },
  { weight: 1, usualLength: 30, read: ({ description }) => description },
];

/** An operation in the index. `number` indexes the score table of a search. */
interface IndexedOperation {
  readonly entry: OperationEntry;
  readonly number: number;
  /** Position among the results with the same score. */
  readonly order: number;
  isRemoved: boolean;
}

type SimilarStem = [stem: string, likeness: number];

/** The operations in which one stem occurs, and how much it weighs in each. */
interface Occurrences {
  readonly operations: IndexedOperation[];
  readonly weights: number[];
}

/**
 * Finds operations by words and ranks them: a rare word weighs more than a common one (BM25), a word in a name or title
 * more than one in a description, and a whole word more than a part of one or a synonym. Among the best, those rank first
 * whose name and title have few words besides those of the query. Call `put` and `remove` to update it.
 */
export class SearchIndex {
  #byId = new Map<string, IndexedOperation>();
  #operations: IndexedOperation[] = [];
  #occurrences = new Map<string, Occurrences>();
  /** Stems by their first characters. */
  #stemsByPrefix = new Map<string, string[]>();
  /** The first stems of names and titles: what operations do. */
  #actions = new Set<string>();
  #nextOrder = 0;

  constructor(entries: Iterable<OperationEntry>) {
    for (const entry of entries) this.put(entry);
  }

  /** Adds an operation, or replaces the one with the same id, which keeps its position. */
  put(entry: OperationEntry): void {
    const earlier = this.#byId.get(entry.id);
    this.remove(entry.id);
    this.#add(entry, earlier?.order ?? this.#nextOrder++);
  }

  remove(id: string): void {
    const operation = this.#byId.get(id);
    if (operation === undefined) return;
    operation.isRemoved = true;
    this.#byId.delete(id);
    // Searches skip removed operations. Rebuild the index when about half of its operations are removed.
    if (this.#operations.length > 2 * this.#byId.size + 100) this.#rebuild();
  }

  /** Returns the operations that match any word of the query, best first. An empty query returns all in order. */
  search(query: string, options: SearchOptions = {}): OperationSpec[] {
    const limit = resolveCount("limit", options.limit, Number.POSITIVE_INFINITY, { min: 0, infinite: true });
    const isVisible = createFilter(options);
    const found = query.trim() === "" ? this.#inOrder() : this.#ranked(query);
    const specs: OperationSpec[] = [];
    for (const { entry } of found) {
      if (specs.length >= limit) break;
      if (isVisible(entry.spec)) specs.push(entry.spec);
    }
    return specs;
  }

  #inOrder(): IndexedOperation[] {
    return [...this.#byId.values()].sort((a, b) => a.order - b.order);
  }

  /** Yields all matches, best first. If the caller stops early, most of them are not sorted. */
  *#ranked(query: string): Iterable<IndexedOperation> {
    const terms = toQueryTerms(query.slice(0, maxQueryLength)).slice(0, maxQueryTerms);
    const scores = new Float64Array(this.#operations.length);
    const matched = new Uint8Array(this.#operations.length);
    for (const term of terms) this.#score(term, scores, matched);

    const exact = query.trim().toLowerCase();
    const found: IndexedOperation[] = [];
    for (const operation of this.#operations) {
      const { number, entry } = operation;
      if (matched[number] === 0 || operation.isRemoved) continue;
      scores[number]! *= matched[number]! / terms.length;
      if (isSameName(entry.id, exact) || isSameName(entry.spec.name, exact)) scores[number]! += exactNameBonus;
      found.push(operation);
    }
    const byScore = (a: IndexedOperation, b: IndexedOperation) =>
      scores[b.number]! - scores[a.number]! || a.order - b.order;
    const best = firstOf(found, maxCompared, byScore);
    for (const { number, entry } of best) scores[number]! *= 1 + coverageBonus * coverageOf(entry.spec, terms);
    yield* best.sort(byScore);
    const yielded = new Set(best);
    yield* found.filter((operation) => !yielded.has(operation)).sort(byScore);
  }

  /** Adds the score of one word of the query to every operation that has it or a similar word. */
  #score(term: QueryTerm, scores: Float64Array, matched: Uint8Array): void {
    const total = this.#operations.length;
    const best = new Float64Array(total);
    let frequency = 0;
    for (const stems of this.#similarStems(term)) {
      for (const [found] of stems) frequency += this.#occurrences.get(found)!.operations.length;
      const common = Math.min(frequency, total);
      const rarity = Math.log(1 + (total - common + 0.5) / (common + 0.5));
      for (const [found, likeness] of stems) {
        const { operations, weights } = this.#occurrences.get(found)!;
        for (let index = 0; index < operations.length; index++) {
          const { number } = operations[index]!;
          const weight = weights[index]! * likeness;
          best[number] = Math.max(best[number]!, (rarity * weight) / (weight + 1.2));
        }
      }
    }
    for (let number = 0; number < total; number++) {
      if (best[number] === 0) continue;
      scores[number]! += best[number]!;
      matched[number]! += 1;
    }
  }

  /**
   * Returns the stem, the stems that begin with it, its own prefixes, and stems with a similar meaning. Stems of one list count
   * as one word. Operations that are named after an action are rarer than changes, which the action may also mean.
   */
  #similarStems({ stem, synonyms, related }: QueryTerm): SimilarStem[][] {
    const like = (stems: readonly string[], likeness: number) =>
      stems.filter((found) => this.#occurrences.has(found)).map((found): SimilarStem => [found, likeness]);
    const same = like(synonyms, synonymLikeness);
    for (const found of this.#stemsByPrefix.get(stem.slice(0, minPrefixLength)) ?? []) {
      const likeness = likenessOf(stem, found);
      if (likeness > 0) same.push([found, likeness]);
    }
    const changes = like(related, relatedLikeness);
    return this.#actions.has(stem) ? [same, changes] : [[...same, ...changes]];
  }

  #add(entry: OperationEntry, order: number): void {
    const operation: IndexedOperation = { entry, number: this.#operations.length, order, isRemoved: false };
    this.#operations.push(operation);
    this.#byId.set(entry.id, operation);
    for (const stem of actionsOf(entry.spec)) this.#actions.add(stem);
    for (const [stem, weight] of weighStems(entry.spec)) {
      let occurrences = this.#occurrences.get(stem);
      if (occurrences === undefined) {
        occurrences = { operations: [], weights: [] };
        this.#occurrences.set(stem, occurrences);
        this.#addPrefix(stem);
      }
      occurrences.operations.push(operation);
      occurrences.weights.push(weight);
    }
  }

  #addPrefix(stem: string): void {
    const prefix = stem.slice(0, minPrefixLength);
    const stems = this.#stemsByPrefix.get(prefix);
    if (stems === undefined) this.#stemsByPrefix.set(prefix, [stem]);
    else stems.push(stem);
  }

  #rebuild(): void {
    const operations = this.#inOrder();
    this.#byId = new Map();
    this.#operations = [];
    this.#occurrences = new Map();
    this.#stemsByPrefix = new Map();
    this.#actions = new Set();
    for (const { entry, order } of operations) this.#add(entry, order);
  }
}

/** Returns the first `count` members in an order. */
function firstOf<T>(list: readonly T[], count: number, compare: (a: T, b: T) => number): T[] {
  const first: T[] = [];
  for (const member of list) {
    let index = first.length;
    while (index > 0 && compare(member, first[index - 1]!) < 0) index--;
    if (index === count) continue;
    first.splice(index, 0, member);
    if (first.length > count) first.pop();
  }
  return first;
}

/** Compares lengths first for speed, because a search compares every match. */
function isSameName(name: string, lowerCaseName: string): boolean {
  return name.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName;
}

/** Returns 1 for the same stem, less if one is a prefix of the other, otherwise 0. */
function likenessOf(queried: string, found: string): number {
  if (queried === found) return 1;
  if (queried.length >= minPrefixLength && found.startsWith(queried)) return queried.length / found.length;
  return found.length > minPrefixLength && queried.startsWith(found) ? found.length / queried.length : 0;
}

/** Returns the share of the words of a name and title, from 0 to 1, that occur in the query or mean the same. */
function coverageOf({ name, title = "" }: OperationSpec, terms: readonly QueryTerm[]): number {
  const stems = toTellingStems(`${name} ${title}`.slice(0, maxFieldLength));
  const isQueried = (found: string) =>
    terms.some(({ stem, synonyms }) => likenessOf(stem, found) > 0 || synonyms.includes(found));
  return stems.filter(isQueried).length / Math.max(stems.length, 1); // a name may have no word
}

/** Returns the first stems of the title and of the last part of the name, such as `lock` of `issues/lock`. */
function actionsOf({ name, title = "" }: OperationSpec): string[] {
  return [title, name.slice(name.lastIndexOf("/") + 1)].flatMap((text) =>
    toStems(text.slice(0, maxFieldLength)).slice(0, 1),
  );
}

/** Returns the weight of each stem of a spec, which depends on the weight and the length of its fields. */
function weighStems(spec: OperationSpec): Map<string, number> {
  const weights = new Map<string, number>();
  for (const { weight, usualLength, read } of fields) {
    const stems = toStems((read(spec) ?? "").slice(0, maxFieldLength));
    const share = weight / (0.25 + (0.75 * stems.length) / usualLength);
    for (const stem of stems) weights.set(stem, (weights.get(stem) ?? 0) + share);
  }
  return weights;
}

function createFilter({ namespace, tag, identity }: SearchOptions): (spec: OperationSpec) => boolean {
  const reader = identity === undefined ? undefined : toIdentity(identity);
  return (spec) =>
    (namespace === undefined || spec.namespace === namespace) &&
    (tag === undefined || spec.tags?.includes(tag) === true) &&
    (identity === undefined || checkScopes(spec.accessControl, reader) === true);
}
