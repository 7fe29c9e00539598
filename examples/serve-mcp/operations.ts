import { defineNamespace, Type } from "@alkdev/operations";

const Task = Type.Object({ id: Type.Number(), title: Type.String() });
const tasks: Array<{ id: number; title: string }> = [];
const define = defineNamespace("task");

const create = define({
  name: "create",
  type: "mutation",
  title: "Create a task",
  description: "Creates a task and returns it.",
  inputSchema: Type.Object({ title: Type.String({ minLength: 1 }) }),
  outputSchema: Task,
  errors: { TITLE_TAKEN: Type.Object({ title: Type.String() }) },
  accessControl: { requiredScopes: ["tasks:write"] },
  handler: ({ title }, { errors }) => {
    if (tasks.some((task) => task.title === title)) throw errors.TITLE_TAKEN({ title }, "The title is taken.");
    const task = { id: tasks.length + 1, title };
    tasks.push(task);
    return task;
  },
});

const list = define({
  name: "list",
  type: "query",
  title: "List tasks",
  description: "Returns all tasks.",
  inputSchema: Type.Object({}),
  outputSchema: Type.Array(Task),
  handler: () => tasks,
});

export const operations = [create, list] as const;
