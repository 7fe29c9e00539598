import { Type } from "typebox";
import { defineOperation, type IOperationDefinition, OperationType } from "../../src/operation/index.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { becomes } from "./lanes.ts";
import { collect } from "./memory.ts";

/** What handlers of the serving side have done. */
export interface Counts {
  /** Producers and waiting handlers that have started and not ended. */
  open: number;
  /** Values that all producers have made so far. */
  produced: number;
}

const common = {
  namespace: "soak",
  version: "1.0.0",
  description: "For soaks.",
  outputSchema: Type.Unknown(),
  accessControl: { requiredScopes: [] },
};
const plain = { ...common, inputSchema: Type.Object({}) };
const numbered = { ...common, inputSchema: Type.Object({ n: Type.Number() }) };

/** What the visitor of that number offers. */
export function visitOperation(number: number): IOperationDefinition {
  const where = { namespace: "visit", name: `n${number}` };
  return defineOperation({ ...numbered, ...where, type: OperationType.QUERY, handler: ({ n }) => n });
}

/** A registry of the operations that soaks call. */
export function createSoakRegistry(): OperationRegistry {
  const registry = new OperationRegistry();
  registry.registerAll(soakOperations(registry));
  return registry;
}

function soakOperations(registry: OperationRegistry): IOperationDefinition[] {
  const counts: Counts = { open: 0, produced: 0 };
  let waiting: Array<() => void> = [];
  return [
    defineOperation({ ...numbered, name: "echo", type: OperationType.QUERY, handler: ({ n }) => n }),
    defineOperation({ ...numbered, name: "again", type: OperationType.QUERY, idempotent: true, handler: ({ n }) => n }),
    defineOperation({
      ...common,
      name: "meet",
      type: OperationType.QUERY,
      inputSchema: Type.Object({ n: Type.Number(), of: Type.Number() }),
      // No call is completed before all have arrived, which shows that all were pending at the same time.
      handler: async ({ n, of }) => {
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          if (waiting.length < of) return;
          for (const answer of waiting) answer();
          waiting = [];
        });
        return n;
      },
    }),
    defineOperation({
      ...numbered,
      name: "hang",
      type: OperationType.QUERY,
      handler: async (_input, { signal }) => {
        counts.open++;
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        counts.open--;
      },
    }),
    defineOperation({
      ...common,
      name: "count",
      type: OperationType.SUBSCRIPTION,
      inputSchema: Type.Object({ to: Type.Number(), size: Type.Optional(Type.Number()) }),
      handler: async function* ({ to, size = 0 }) {
        counts.open++;
        try {
          for (let n = 0; n < to; n++) {
            counts.produced++;
            yield size === 0 ? n : { n, text: String(n % 10).repeat(size) };
          }
        } finally {
          counts.open--;
        }
      },
    }),
    defineOperation({
      ...numbered,
      name: "receive",
      type: OperationType.QUERY,
      // What a visitor offers takes a moment to be known here.
      handler: async ({ n }) => {
        await becomes(async () => registry.has(`visit.n${n}`), 30_000);
        return (await registry.execute(`visit.n${n}`, { n })).data;
      },
    }),
    defineOperation({ ...plain, name: "counts", type: OperationType.QUERY, handler: () => counts }),
    defineOperation({ ...plain, name: "memory", type: OperationType.QUERY, handler: () => collect() }),
  ] as IOperationDefinition[];
}
