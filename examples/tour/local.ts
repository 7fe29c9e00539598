import { CallError, defineOperation, OperationType, Type } from "@alkdev/operations";

const Task = Type.Object({ id: Type.String(), title: Type.String(), done: Type.Boolean() });

/** A mutation with a scope, a declared error and an answer that has more in it than its schema says. */
export const createTask = defineOperation({
  namespace: "task",
  name: "create",
  version: "1.0.0",
  type: OperationType.MUTATION,
  description: "Creates a task",
  inputSchema: Type.Object({ title: Type.String({ minLength: 1 }) }),
  outputSchema: Task,
  errorSchemas: [{ code: "TITLE_TAKEN", schema: Type.Object({ title: Type.String() }) }],
  accessControl: { requiredScopes: ["task:write"] },
  handler: async ({ title }) => {
    if (title === "Ship it again") throw new CallError("TITLE_TAKEN", "There is such a task already.", { title });
    const row = { id: "task-1", title, done: false, internalCost: 42 };
    return row;
  },
});

/** A query without demands. */
export const greet = defineOperation({
  namespace: "text",
  name: "greet",
  version: "1.0.0",
  type: OperationType.QUERY,
  description: "Says hello",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.String(),
  accessControl: { requiredScopes: [] },
  handler: ({ name }) => `Hello, ${name}!`,
});

/** One operation made of the two above: it neither knows nor cares where they run. */
export const welcome = defineOperation({
  namespace: "team",
  name: "welcome",
  version: "1.0.0",
  type: OperationType.MUTATION,
  description: "Greets a person and creates their first task",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.Object({ greeting: Type.String(), firstTask: Type.String() }),
  accessControl: { requiredScopes: ["team:write"] },
  handler: async ({ name }, { env }) => {
    const greeting = await env.text!.greet!({ name });
    const task = await env.task!.create!({ title: `Show ${name} around` });
    return { greeting: String(greeting.data), firstTask: (task.data as { id: string }).id };
  },
});

/** A subscription: any async generator. */
export const countdown = defineOperation({
  namespace: "clock",
  name: "countdown",
  version: "1.0.0",
  type: OperationType.SUBSCRIPTION,
  description: "Counts down to zero",
  inputSchema: Type.Object({ from: Type.Integer({ minimum: 0, maximum: 100 }) }),
  outputSchema: Type.Integer(),
  accessControl: { requiredScopes: [] },
  handler: async function* ({ from }) {
    for (let left = from; left >= 0; left -= 1) yield left;
  },
});
