// #region registry
import { createRegistry, defineOperation, OperationRegistry, Type } from "@alkdev/operations";

const create = defineOperation({
  namespace: "task",
  name: "create",
  type: "mutation",
  description: "Creates a task",
  inputSchema: Type.Object({ title: Type.String(), due: Type.Optional(Type.String()) }),
  outputSchema: Type.Object({ id: Type.String() }),
  handler: ({ title, due }) => ({ id: `${title.toLowerCase()} ${due?.slice(0, 4) ?? "some day"}` }),
});

const registry = createRegistry({ operations: [create] });
const { data } = await registry.execute("task.create", { title: "Learn Greek" });
console.log(data.id.toUpperCase());
// #endregion registry

// #region mistakes
const mistakes = [
  // @ts-expect-error There is no such operation.
  () => registry.execute("task.crate", { title: "Typo" }),
  // @ts-expect-error The title is missing.
  () => registry.execute("task.create", {}),
  // @ts-expect-error The result has no title.
  async () => (await registry.client().task.create({ title: "x" })).title,
  // @ts-expect-error The id must be a string.
  () => defineOperation({ ...create, handler: () => ({ id: 7 }) }),
];

// #endregion mistakes

// #region infer
import type { InferInput, InferOutput } from "@alkdev/operations";

type NewTask = InferInput<typeof create.inputSchema>;
type Task = InferOutput<typeof create.outputSchema>;

async function remember(task: NewTask): Promise<Task> {
  return registry.client().task.create(task);
}
console.log(await remember({ title: "Buy milk", due: "2027-01-01" }));
// #endregion infer

// #region loose
const anything: OperationRegistry = registry;
anything.register({ ...create, name: "draft" });
const draft = await anything.execute<{ id: string }>("task.draft", { title: "Novel" });
console.log(draft.data.id);

const plugins = new OperationRegistry();
plugins.register(create);
console.log(await plugins.client().task!.create!({ title: "Swim" }));

// #endregion loose

import assert from "node:assert/strict";

assert.equal(mistakes.length, 4);
assert.deepEqual(await remember({ title: "Buy milk", due: "2027-01-01" }), { id: "buy milk 2027" });
assert.equal(draft.data.id, "novel some day");
