import { defineOperation, type IOperationDefinition, OperationType, Type } from "@alkdev/operations";

/** Called whenever a handler starts or is aborted. */
export type Report = (event: { kind: "started" | "stopped"; operation: string; n: number }) => void;

const common = {
  namespace: "work",
  version: "1.0.0",
  description: "For tests.",
  inputSchema: Type.Object({ n: Type.Number() }),
  outputSchema: Type.Unknown(),
  accessControl: { requiredScopes: [] },
};

/** Operations that workers of fault tests serve: one returns, one hangs, one kills, one counts. */
export function workOperations(report: Report = () => {}): IOperationDefinition[] {
  const started = (operation: string, n: number, signal?: AbortSignal) => {
    report({ kind: "started", operation, n });
    signal?.addEventListener("abort", () => report({ kind: "stopped", operation, n }));
  };
  return [
    defineOperation({
      ...common,
      name: "echo",
      type: OperationType.QUERY,
      handler: ({ n }) => {
        started("echo", n);
        return { n, pid: process.pid };
      },
    }),
    defineOperation({
      ...common,
      name: "hang",
      type: OperationType.MUTATION,
      handler: ({ n }, { signal }) => {
        started("hang", n, signal);
        return new Promise(() => {});
      },
    }),
    defineOperation({
      ...common,
      name: "again",
      type: OperationType.MUTATION,
      idempotent: true,
      // The first worker hangs, the later ones return.
      handler: ({ n }, { signal }) => {
        started("again", n, signal);
        return process.env["HANGS"] === undefined ? { n, pid: process.pid } : new Promise(() => {});
      },
    }),
    defineOperation({
      ...common,
      name: "die",
      type: OperationType.MUTATION,
      idempotent: true,
      handler: ({ n }) => {
        started("die", n);
        // When the report is out.
        setTimeout(() => process.kill(process.pid, "SIGKILL"), 20);
        return new Promise(() => {});
      },
    }),
    defineOperation({
      ...common,
      name: "count",
      type: OperationType.SUBSCRIPTION,
      handler: async function* ({ n }, { signal }) {
        started("count", n, signal);
        for (let index = 0; index < n; index++) yield index;
        if (n < 1_000) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    }),
  ] as IOperationDefinition[];
}
