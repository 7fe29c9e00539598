import { operations } from "./built.ts";
import { readCPUTime, sink } from "./measure.ts";
import { numberedOperation } from "./task-operation.ts";

/** Cost of registering in a fresh process. */
export interface Registered {
  /** CPU time, including the threads of the garbage collector. An idle machine does not need longer. */
  ms: number;
  /** CPU time for setting the definitions in a `Map`. */
  mapMs: number;
  /** Heap of each operation, including its definition but not its schemas. */
  heapBytes: number;
  definitionBytes: number;
  /** Number of functions that were compiled from strings. */
  compiled: number;
}

const count = 10_000;
const { timed, compiled, mapMs } = time();
process.send!({ ms: timed, mapMs, compiled, ...weigh() } satisfies Registered, () => process.exit(0));

function time() {
  const definitions = Array.from({ length: count }, (_, index) => numberedOperation(index));
  const map = new Map<string, unknown>();
  const registry = new operations.OperationRegistry();
  const counted = countCompiled();
  const start = readCPUTime();
  for (const definition of definitions) registry.register(definition);
  const middle = readCPUTime();
  const compiled = counted();
  const startMap = readCPUTime();
  for (const definition of definitions) map.set(`${definition.namespace}.${definition.name}`, definition);
  sink.last = map;
  return { timed: middle - start, mapMs: readCPUTime() - startMap, compiled };
}

/** Measures the heap. Definitions are copied, so that everything but the schemas counts. */
function weigh() {
  const schemas = Array.from({ length: count }, (_, index) => {
    const { inputSchema, outputSchema } = numberedOperation(index);
    return { inputSchema, outputSchema };
  });
  const empty = heapUsed();
  let definitions = schemas.map((own, index) => ({ ...numberedOperation(index), ...own }));
  const defined = heapUsed();
  const registry = new operations.OperationRegistry();
  for (const definition of definitions) registry.register(definition);
  definitions = [];
  const registered = heapUsed();
  sink.last = [registry, schemas, definitions];
  return { heapBytes: (registered - empty) / count, definitionBytes: (defined - empty) / count };
}

function heapUsed(): number {
  for (let i = 0; i < 4; i++) globalThis.gc!();
  return process.memoryUsage().heapUsed;
}

function countCompiled(): () => number {
  const original = globalThis.Function;
  let count = 0;
  globalThis.Function = new Proxy(original, {
    apply: (target, self, args) => {
      count++;
      return Reflect.apply(target, self, args);
    },
    construct: (target, args) => {
      count++;
      return Reflect.construct(target, args);
    },
  });
  return () => {
    globalThis.Function = original;
    return count;
  };
}
