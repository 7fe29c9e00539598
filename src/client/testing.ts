import { Type } from "typebox";
import { createRegistry, defineOperation, mcpEnvelope } from "../index.ts";

const base = { namespace: "task", version: "1.0.0", description: "", accessControl: { requiredScopes: [] } } as const;

/** Records of the handlers of {@link createTaskRegistry}. */
export interface Seen {
  started: number;
  aborted: number;
  metadata: unknown[];
  /** Deadlines of calls of `task.create` and subscriptions to `task.changes`. */
  deadlines: Array<number | undefined>;
}

/** Creates a registry with operations of each type, and the records of their handlers. */
export function createTaskRegistry() {
  const seen: Seen = { started: 0, aborted: 0, metadata: [], deadlines: [] };
  const create = defineOperation({
    ...base,
    name: "create",
    type: "mutation",
    inputSchema: Type.Object({ title: Type.String({ minLength: 1 }) }),
    outputSchema: Type.Object({ id: Type.Integer(), title: Type.String() }),
    errors: { TITLE_TAKEN: Type.Object({ title: Type.String() }) },
    handler: ({ title }, { deadline, errors }) => {
      seen.started += 1;
      seen.deadlines.push(deadline);
      if (title === "taken") throw errors.TITLE_TAKEN({ title }, "There is a task with this title.");
      return { id: seen.started, title };
    },
  });
  const whoami = defineOperation({
    ...base,
    name: "whoami",
    type: "query",
    inputSchema: Type.Object({}),
    outputSchema: Type.Object({ id: Type.Optional(Type.String()) }),
    handler: (_input, { identity, metadata }) => {
      seen.metadata.push(metadata);
      return { id: identity?.id };
    },
  });
  const hang = defineOperation({
    ...base,
    name: "hang",
    type: "query",
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
    handler: (_input, { signal }) => {
      seen.started += 1;
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          seen.aborted += 1;
          resolve(undefined);
        });
      });
    },
  });
  const tool = defineOperation({
    ...base,
    name: "tool",
    type: "query",
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
    handler: () => mcpEnvelope("no", { isError: true, content: [{ type: "text", text: "The disk is full." }] }),
  });
  const changes = defineOperation({
    ...base,
    name: "changes",
    type: "subscription",
    inputSchema: Type.Object({ upTo: Type.Optional(Type.Integer()) }),
    outputSchema: Type.Integer(),
    handler: async function* ({ upTo = Number.POSITIVE_INFINITY }, { deadline }) {
      seen.started += 1;
      seen.deadlines.push(deadline);
      try {
        for (let change = 1; change <= upTo; change++) yield change;
      } finally {
        seen.aborted += 1;
      }
    },
  });
  const registry = createRegistry({ operations: [create, whoami, hang, tool, changes] });
  return { registry, seen };
}

/** The type of the registry, as a client imports it. */
export type TaskRegistry = ReturnType<typeof createTaskRegistry>["registry"];
