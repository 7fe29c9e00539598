import assert from "node:assert/strict";

// This example starts the server in the same process, on a free port.
process.env["PORT"] = "0";
const { listener } = await import("./server.ts");
const url = `ws://127.0.0.1:${listener.port}`;

// #region connect
import { connect } from "@alkdev/operations/client";
import type { registry } from "./operations.ts"; // only the type: no operation and no schema is loaded

const ada = connect<typeof registry>(url, { token: "token-of-ada", timeout: 5_000 });

const message = await ada.chat.send({ room: "kitchen", text: "Tea is ready." });
console.log(message);
// #endregion connect

// #region errors
const unknown = await ada.chat.send({ room: "attic", text: "Hello?" }).catch((error: unknown) => error);
if (ada.chat.send.isError(unknown, "ROOM_UNKNOWN")) console.log(unknown.message, unknown.details.rooms);

const bob = connect<typeof registry>(url, { token: "token-of-bob" });
const denied = await bob.chat.send({ room: "kitchen", text: "Coming!" }).catch((error) => error);
console.log(denied.code, denied.message);
// #endregion errors

// #region subscribe
const reading = (async () => {
  for await (const { from, text } of bob.chat.listen({ room: "kitchen" })) {
    console.log(`bob reads: ${from} wrote "${text}"`);
    if (text.startsWith("Last")) break; // ends the handler on the server
  }
})();

await ada.chat.send({ room: "kitchen", text: "Last call for tea." });
await reading;
// #endregion subscribe

// #region close
await ada.close();
await bob.close();
// #endregion close
await listener.close();

assert.deepEqual(message, { room: "kitchen", from: "ada", text: "Tea is ready." });
assert(ada.chat.send.isError(unknown, "ROOM_UNKNOWN"));
assert.deepEqual(unknown.details, { rooms: ["kitchen", "garden"] });
assert.equal(denied.code, "ACCESS_DENIED");
