import { operations } from "./built.ts";
import { readCPUTime, sink } from "./measure.ts";
import { numberedOperation } from "./task-operation.ts";

/** What registering cost in a fresh process. */
export interface Registered {
  /** CPU time, the collector's threads included: on an idle machine it takes no longer than this. */
  ms: number;
  /** The same for setting the definitions in a `Map`. */
  mapMs: number;
  /** Heap for each operation, its definition included and its schemas not. */
  heapBytes: number;
  definitionBytes: number;
  /** How often code was generated from text. */
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

/** The definitions are copied, so that all of an operation but its schemas is weighed. */
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
