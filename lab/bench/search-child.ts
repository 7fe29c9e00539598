/** Searches 10,000 operations in a fresh process. */
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

const rounds = 15;
/** Number of results that a caller reads. */
const limit = 20;

const registry = new operations.OperationRegistry();
for (const definition of createOperations()) registry.register(definition);
const start = readCPUTime();
sink.last = registry.search("xylophone", { limit });
const index = readCPUTime() - start;
const names = Object.keys(queries) as QueryName[];
const toRecord = (read: (query: string) => number) =>
  Object.fromEntries(names.map((name) => [name, read(queries[name])])) as Record<QueryName, number>;
const times = toRecord(time);
process.send!({ index, times, found: toRecord((query) => registry.search(query).length) } satisfies Searched, () =>
  process.exit(0),
);

function time(query: string): number {
  const samples = Array.from({ length: rounds }, () => {
    const before = readCPUTime();
    sink.last = registry.search(query, { limit });
    return readCPUTime() - before;
  });
  return median(samples);
}
