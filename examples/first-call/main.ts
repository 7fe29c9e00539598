// #region program
import { createRegistry, defineOperation, Type } from "@alkdev/operations";

const create = defineOperation({
  namespace: "task",
  name: "create",
  type: "mutation",
  description: "Creates a task",
  inputSchema: Type.Object({ title: Type.String(), priority: Type.Integer({ default: 3 }) }),
  outputSchema: Type.Object({ id: Type.String(), title: Type.String(), priority: Type.Integer() }),
  accessControl: { requiredScopes: ["task:write"] },
  handler: async ({ title, priority }) => ({ id: "task-1", title, priority }),
});

const registry = createRegistry({ operations: [create] });
const identity = { id: "ada", scopes: ["task:write"] };

// The compiler knows the id, the input and the output.
const envelope = await registry.execute("task.create", { title: "Ship it" }, { identity });
console.log(envelope);

// A client returns the data without the envelope.
const task = await registry.client({ identity }).task.create({ title: "Rest" });
console.log(task.title);

// Errors have a code and report whether the handler may have run.
const denied = await registry.execute("task.create", { title: "No" }).catch((error) => error);
console.log(denied.code, denied.mayHaveRun);

// #endregion program

import assert from "node:assert/strict";

assert.deepEqual(envelope.data, { id: "task-1", title: "Ship it", priority: 3 });
assert.equal(denied.code, "ACCESS_DENIED");
