import { type Static, type TSchema, Type } from "typebox";
import { Compile } from "typebox/compile";
import type { Identity, IOperationDefinition, ResponseEnvelope } from "../../src/index.ts";

/** Input of the benches' operation. */
export const TaskInput = Type.Object({
  title: Type.String(),
  priority: Type.Integer(),
  tags: Type.Optional(Type.Array(Type.String())),
});

/** Output of the benches' operation. */
export const Task = Type.Object({
  id: Type.String(),
  title: Type.String(),
  priority: Type.Integer(),
  done: Type.Boolean(),
});

export const input: Static<typeof TaskInput> = { title: "Write the report", priority: 3, tags: ["work", "today"] };
export const identity: Identity = { id: "ada", scopes: ["task:read", "task:write"] };
export const expected: Static<typeof Task> = { id: "task-1", title: "Write the report", priority: 3, done: false };

/** The function that all benches call. */
export async function createTask({ title, priority }: Static<typeof TaskInput>): Promise<Static<typeof Task>> {
  return { id: "task-1", title, priority, done: false };
}

const compiledInput = Compile(TaskInput);
const compiledTask = Compile(Task);

/** The floor: careful handwritten code for this one operation. */
export async function createTaskByHand(value: unknown, caller: Identity): Promise<ResponseEnvelope> {
  if (!caller.scopes.includes("task:write")) throw new Error("denied");
  if (!compiledInput.Check(value)) throw new Error("invalid input");
  const data = await createTask(value);
  if (!compiledTask.Check(data)) throw new Error("invalid output");
  return { data, meta: { source: "local", operationId: "task.create", timestamp: Date.now() } };
}

/** The same operation for the registry. */
export const taskOperation: IOperationDefinition = {
  namespace: "task",
  name: "create",
  version: "1.0.0",
  type: "mutation",
  description: "Creates a task",
  inputSchema: TaskInput,
  outputSchema: Task,
  accessControl: { requiredScopes: ["task:write"] },
  handler: createTask,
};

/** Creates an operation of the same shape, with its own schemas and handler. */
export function numberedOperation(index: number): IOperationDefinition {
  const id = `task-${index}`;
  return {
    namespace: `group${index % 50}`,
    name: `create${index}`,
    version: "1.0.0",
    type: "mutation",
    description: `Creates a task of kind ${index}`,
    ...numberedSchemas(index),
    accessControl: { requiredScopes: ["task:write"] },
    handler: async ({ title, priority }) => ({ id, title, priority, done: false }),
  };
}

/** Creates schemas that share no object with those of any other operation. */
export function numberedSchemas(index: number): { inputSchema: TSchema; outputSchema: TSchema } {
  const inputSchema = Type.Object({
    title: Type.String(),
    priority: Type.Integer(),
    tags: Type.Optional(Type.Array(Type.String())),
  });
  const outputSchema = Type.Object(
    { id: Type.String(), title: Type.String(), priority: Type.Integer(), done: Type.Boolean() },
    { description: `A task of kind ${index}` },
  );
  return { inputSchema, outputSchema };
}
