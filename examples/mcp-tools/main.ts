import assert from "node:assert/strict";
// #region connect
import { fileURLToPath } from "node:url";
import { type CallError, OperationRegistry } from "@alkdev/operations";
import { mcpSource } from "@alkdev/operations/from-mcp";

const server = fileURLToPath(new URL("server.mjs", import.meta.url));
const notes = mcpSource({ name: "notes", command: "node", args: [server], trustAnnotations: true });

await using registry = new OperationRegistry({ log: false });
await registry.follow(notes);
for (const { namespace, name, type } of registry.list()) console.log(type, `${namespace}.${name}`);
// #endregion connect

// #region call
const added = await registry.execute("notes.add", { text: "Water the plants" });
console.log(added);
// #endregion call

// #region error
const refused = await registry.execute("notes.share", { id: "note-9", address: "ada@example.com" });
console.log(refused.data, refused.meta.source === "mcp" && refused.meta.isError);

// A client returns data without an envelope, so it throws.
const share = registry.client().notes!.share!({ id: "note-9", address: "ada@example.com" });
await share.catch((error: CallError) => console.log(error.code, error.message));
// #endregion error

// #region input
const invalid = await registry.execute("notes.add", { text: 7 }).catch((error) => error);
console.log(invalid.code, invalid.mayHaveRun);
// #endregion input

// #region states
const { status, server: info, protocol } = notes.client!.state;
console.log(status, info?.version, protocol?.version);
// #endregion states

assert.deepEqual(added.data, { id: "note-1", text: "Water the plants" });
assert.deepEqual(
  registry.list().map(({ name }) => name),
  ["add", "search", "share"],
);
assert.deepEqual((await registry.execute("notes.search", { word: "plants" })).data, { notes: [added.data] });
assert.equal(invalid.code, "VALIDATION_ERROR");
assert.equal(status, "ready");
