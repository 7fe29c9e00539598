import assert from "node:assert/strict";

process.env["PORT"] = "0"; // any free port
const { listener, token, registry: tasks } = await import("./client/server.ts");
const { url } = listener;

// #region client
import { connect } from "@alkdev/operations/client";
import type { registry } from "./client/server.ts"; // erased: neither the registry nor a schema is loaded

const client = connect<typeof registry>(url, { token });

const task = await client.task.create({ title: "Ship it" }, { timeout: 5_000 });
console.log(task);

for await (const { title } of client.task.changes()) console.log("changed:", title);
// #endregion client
assert.deepEqual(task, { id: 1, title: "Ship it" });

// #region errors
let taken: string | undefined;
try {
  await client.task.create({ title: "Ship it" });
} catch (error) {
  if (!client.task.create.isError(error, "TITLE_TAKEN")) throw error;
  taken = error.details.title; // a string, as the operation declares
  console.log(error.message, taken);
}
// #endregion errors
assert.equal(taken, "Ship it");

// #region envelope
const { data, meta } = await client.task.create.envelope({ title: "Tell everyone" });
console.log(data.id, meta.source);
// #endregion envelope
assert.deepEqual([data.id, meta.source], [2, "local"]);

// #region refused
await using stranger = connect<typeof registry>(url, { token: "guess" });
const refused = await stranger.task.create({ title: "x" }).catch((error) => error);
console.log(refused.code);
// #endregion refused
assert.equal(refused.code, "ACCESS_DENIED");

// #region websocket
await using socket = connect<typeof registry>(`${url.replace("http", "ws")}/calls`, { token });
const second = await socket.task.create({ title: "Sleep" });
console.log(second.id);
// #endregion websocket
assert.equal(second.id, 3);

// #region close
await client.close(); // pending calls fail

// #endregion close

// #region transport
import { createInProcessTransport, InProcessBus, serveCalls } from "@alkdev/operations";

const bus = new InProcessBus();
await using _served = await serveCalls(tasks, createInProcessTransport(bus));
await using local = connect<typeof registry>(createInProcessTransport(bus), {
  identity: { id: "ada", scopes: ["task:write"] },
});
const third = await local.task.create({ title: "Rest" });
console.log(third.id);
// #endregion transport
assert.equal(third.id, 4);

await socket.close();
await listener.close();
