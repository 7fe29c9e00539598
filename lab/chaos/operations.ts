import { setTimeout as delay } from "node:timers/promises";
import { isMainThread } from "node:worker_threads";
import {
  defineOperation,
  type IOperationDefinition,
  type OperationContext,
  OperationType,
  Type,
} from "@alkdev/operations";
import type { Recorder } from "../../test/history/index.ts";

/** The only token that opens `chaos.secret`. It must not appear in an error. */
export const goodToken = "chaos-canary-5d0c7a";
/** What the token allows. */
export const secretScope = "chaos:secret";

const common = { namespace: "chaos", version: "1.0.0", description: "For chaos.", outputSchema: Type.Unknown() };
const open = { accessControl: { requiredScopes: [] } };
/** `call` names the call in the history. `ms` is its duration, `values` how many it yields, `text` is returned. */
const inputSchema = Type.Object({
  call: Type.String(),
  ms: Type.Optional(Type.Number()),
  values: Type.Optional(Type.Number()),
  text: Type.Optional(Type.String()),
});

/** Operations of workers. Every handler records when it starts, when it is aborted and when it ends. */
export function chaosOperations(recorder: Recorder): IOperationDefinition[] {
  const start = (call: string, { signal, deadline }: OperationContext) => {
    const left = deadline === undefined ? undefined : deadline - Date.now();
    recorder.record({ kind: "started", call, ...(left === undefined ? {} : { left }) });
    signal.addEventListener("abort", () => recorder.record({ kind: "stopped", call }), { once: true });
  };
  const wait = async ({ call, ms = 0 }: { call: string; ms?: number }, context: OperationContext) => {
    start(call, context);
    try {
      await delay(ms, undefined, { signal: context.signal });
    } finally {
      recorder.record({ kind: "ended", call });
    }
    return { call };
  };

  return [
    defineOperation({
      ...common,
      ...open,
      name: "echo",
      type: OperationType.QUERY,
      inputSchema,
      handler: ({ call, text }, context) => {
        start(call, context);
        recorder.record({ kind: "ended", call });
        return { call, text };
      },
    }),
    defineOperation({ ...common, ...open, name: "slow", type: OperationType.QUERY, inputSchema, handler: wait }),
    defineOperation({
      ...common,
      ...open,
      name: "again",
      type: OperationType.MUTATION,
      idempotent: true,
      inputSchema,
      handler: wait,
    }),
    defineOperation({
      ...common,
      accessControl: { requiredScopes: [secretScope] },
      name: "secret",
      type: OperationType.MUTATION,
      inputSchema,
      handler: wait,
    }),
    defineOperation({
      ...common,
      ...open,
      name: "hang",
      type: OperationType.MUTATION,
      inputSchema,
      handler: ({ call }, context) => {
        start(call, context);
        return new Promise(() => {});
      },
    }),
    defineOperation({
      ...common,
      ...open,
      name: "count",
      type: OperationType.SUBSCRIPTION,
      inputSchema,
      handler: async function* ({ call, values = 0, ms = 0 }, context) {
        start(call, context);
        try {
          for (let value = 0; value < values; value++) {
            if (ms > 0) await delay(ms, undefined, { signal: context.signal });
            yield { call, value };
          }
        } finally {
          recorder.record({ kind: "ended", call });
        }
      },
    }),
    // Only members of pools receive these: others are killed and stopped with signals.
    defineOperation({
      ...common,
      ...open,
      name: "die",
      type: OperationType.MUTATION,
      inputSchema,
      handler: ({ call }, context) => {
        start(call, context);
        recorder.record({ kind: "killed", who: recorder.by });
        if (!isMainThread) process.exit(1);
        process.kill(process.pid, "SIGKILL");
      },
    }),
    defineOperation({
      ...common,
      ...open,
      name: "block",
      type: OperationType.MUTATION,
      inputSchema,
      handler: ({ call, ms = 0 }, context) => {
        start(call, context);
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
        recorder.record({ kind: "ended", call });
        return { call };
      },
    }),
  ] as IOperationDefinition[];
}
