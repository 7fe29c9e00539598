import { defineOperation, Type } from "@alkdev/operations";

/** A query that every caller may call. */
export const greet = defineOperation({
  namespace: "text",
  name: "greet",
  type: "query",
  description: "Greets a person",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.String(),
  handler: ({ name }) => `Hello, ${name}!`,
});

/** A mutation with a required scope, a declared error, and a result with a property that its schema does not declare. */
export const createTask = defineOperation({
  namespace: "task",
  name: "create",
  type: "mutation",
  description: "Creates a task",
  inputSchema: Type.Object({ title: Type.String({ minLength: 1 }) }),
  outputSchema: Type.Object({ id: Type.String(), title: Type.String(), done: Type.Boolean() }),
  errors: { TITLE_TAKEN: Type.Object({ title: Type.String() }) },
  accessControl: { requiredScopes: ["task:write"] },
  handler: async ({ title }, { errors }) => {
    if (title === "Rest") throw errors.TITLE_TAKEN({ title }, `The title "${title}" is taken.`);
    const row = { id: "task-1", title, done: false, internalCost: 42 };
    return row;
  },
});

/** A subscription: an async generator function. */
export const countdown = defineOperation({
  namespace: "clock",
  name: "countdown",
  type: "subscription",
  description: "Counts down to zero",
  inputSchema: Type.Object({ from: Type.Integer({ minimum: 0, maximum: 100 }) }),
  outputSchema: Type.Integer(),
  handler: async function* ({ from }) {
    for (let left = from; left >= 0; left -= 1) yield left;
  },
});

/** Calls a function, an HTTP endpoint and an MCP tool, all in the same way. */
export const prepare = defineOperation({
  namespace: "trip",
  name: "prepare",
  type: "query",
  description: "Greets a traveller and lists what to pack",
  inputSchema: Type.Object({ name: Type.String(), city: Type.String() }),
  outputSchema: Type.Object({ greeting: Type.String(), celsius: Type.Number(), pack: Type.Array(Type.String()) }),
  handler: async ({ name, city }, { call }) => {
    const greeting = await call(greet, { name });
    const { celsius } = await call<{ celsius: number }>("weather.forecast", { city });
    const { items } = await call<{ items: string[] }>("packing.suggest", { celsius });
    return { greeting, celsius, pack: items };
  },
});
