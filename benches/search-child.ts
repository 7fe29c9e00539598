/** Searches 10,000 operations in a fresh process, with the registry or with MiniSearch: `process.argv[2]` selects it. */
import MiniSearch from "minisearch";
import type { IOperationDefinition } from "../src/index.ts";
import { operations } from "./built.ts";
import { median, readCPUTime, sink } from "./measure.ts";
import { createOperations, type QueryName, queries } from "./search-documents.ts";

/** What one process measured. Times are CPU times in ms. */
export interface Searched {
  /** The first search, which builds the index. */
  index: number;
  /** A search in the finished index. */
  times: Record<QueryName, number>;
  /** Number of operations that match. */
  found: Record<QueryName, number>;
}

/** Returns the matches, best first. */
type Search = (query: string, limit?: number) => unknown[];

const rounds = 15;
/** Number of results that a caller reads. */
const limit = 20;

const search = { registry: searchRegistry, minisearch: searchWithMiniSearch }[process.argv[2]!]!(createOperations());
const start = readCPUTime();
sink.last = search("xylophone", limit);
const index = readCPUTime() - start;
const names = Object.keys(queries) as QueryName[];
const toRecord = (read: (query: string) => number) =>
  Object.fromEntries(names.map((name) => [name, read(queries[name])])) as Record<QueryName, number>;
const times = toRecord(time);
process.send!({ index, times, found: toRecord((query) => search(query).length) } satisfies Searched, () =>
  process.exit(0),
);

function time(query: string): number {
  const samples = Array.from({ length: rounds }, () => {
    const before = readCPUTime();
    sink.last = search(query, limit);
    return readCPUTime() - before;
  });
  return median(samples);
}

function searchRegistry(definitions: readonly IOperationDefinition[]): Search {
  const registry = new operations.OperationRegistry();
  for (const definition of definitions) registry.register(definition);
  return (query, maximum) => registry.search(query, maximum === undefined ? {} : { limit: maximum });
}

/** MiniSearch with the same fields and weights. Its first search builds the index too. */
function searchWithMiniSearch(definitions: readonly IOperationDefinition[]): Search {
  let built: MiniSearch | undefined;
  const build = () => {
    const mini = new MiniSearch({ fields: ["name", "title", "namespace", "tags", "description"] });
    mini.addAll(
      definitions.map(({ namespace, name, title, tags, description }, id) => {
        const words = name.replace(/([a-z])([A-Z])/g, "$1 $2");
        return { id, namespace, name: words, title, tags: tags?.join(" "), description };
      }),
    );
    return mini;
  };
  const boost = { name: 4, title: 4, namespace: 2, tags: 1.5 };
  return (query, maximum) => {
    built ??= build();
    return built.search(query, { boost, prefix: (term) => term.length > 2 }).slice(0, maximum);
  };
}
