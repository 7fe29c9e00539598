// #region operation
import { setTimeout as sleep } from "node:timers/promises";
import { createRegistry, defineOperation, Type } from "@alkdev/operations";

const copy = defineOperation({
  namespace: "file",
  name: "copy",
  type: "mutation",
  description: "Copies files, one after the other",
  inputSchema: Type.Object({ files: Type.Array(Type.String()) }),
  outputSchema: Type.Object({ copied: Type.Integer() }),
  handler: async ({ files }, context) => {
    for (const [index, file] of files.entries()) {
      await sleep(50, undefined, { signal: context.signal });
      context.progress({ progress: index + 1, total: files.length, message: file });
    }
    return { copied: files.length };
  },
});
// #endregion operation

// #region progress
const registry = createRegistry({ operations: [copy] });
const files = ["a.txt", "b.txt", "c.txt"];

const { data } = await registry.execute(
  "file.copy",
  { files },
  { onProgress: ({ progress, total, message }) => console.log(`${progress} of ${total}: ${message}`) },
);
console.log(data);
// #endregion progress

// #region deadline
const many = Array.from({ length: 1_000 }, (_, index) => `${index}.txt`);
const late = await registry.execute("file.copy", { files: many }, { timeout: 1_000 }).catch((error) => error);
console.log(late.code, { retryable: late.retryable, mayHaveRun: late.mayHaveRun });
// #endregion deadline

// #region signal
const controller = new AbortController();
const call = registry.execute("file.copy", { files }, { signal: controller.signal }).catch((error) => error);
controller.abort("the user closed the window");

const aborted = await call;
console.log(`${aborted.code}: ${aborted.message} Reason: ${aborted.cause}`);
// #endregion signal

// #region nesting
const backup = defineOperation({
  namespace: "file",
  name: "backup",
  type: "mutation",
  description: "Copies a whole folder",
  inputSchema: Type.Object({ folder: Type.String() }),
  outputSchema: Type.Object({ copied: Type.Integer(), by: Type.String() }),
  handler: async ({ folder }, { call, requestId, metadata }) => {
    const { copied } = await call(copy, { files: [`${folder}/x`, `${folder}/y`] });
    console.log(`${requestId} ran for ${metadata["user"]}`);
    return { copied, by: "file.copy" };
  },
});

const office = createRegistry({ operations: [copy, backup] });
office.on("call", ({ kind, operationId, parentRequestId }) => {
  if (kind !== "progressed") console.log(kind, operationId, parentRequestId ? `inside ${parentRequestId}` : "");
});
await office.execute("file.backup", { folder: "/home/ada" }, { requestId: "request-7", metadata: { user: "ada" } });
// #endregion nesting

// #region depth
const echo = defineOperation({
  namespace: "cave",
  name: "echo",
  type: "query",
  description: "Calls itself without end",
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
  handler: (_input, { call }) => call("cave.echo"),
});

const cave = createRegistry({ operations: [echo], limits: { callDepth: 10 } });
const endless = await cave.execute("cave.echo").catch((error) => error);
console.log(`${endless.code}: ${endless.message}`);

// #endregion depth

import assert from "node:assert/strict";

assert.deepEqual(data, { copied: 3 });
assert.deepEqual([late.code, late.mayHaveRun], ["TIMEOUT", true]);
assert.deepEqual([aborted.code, aborted.cause], ["ABORTED", "the user closed the window"]);
assert.equal(endless.code, "LIMIT_EXCEEDED");
