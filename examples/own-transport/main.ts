// #region use
import { createRegistry, defineOperation, PendingRequestMap, serveCalls, Type } from "@alkdev/operations";
import { LineTransport } from "./line-transport.ts";

const registry = createRegistry({
  operations: [
    defineOperation({
      namespace: "text",
      name: "upper",
      type: "query",
      description: "Writes a text in capitals",
      inputSchema: Type.Object({ text: Type.String() }),
      outputSchema: Type.String(),
      handler: ({ text }) => text.toUpperCase(),
    }),
  ],
});

const worker = await serveCalls(registry, new LineTransport("office", "worker", "desk"));

const desk = new PendingRequestMap(new LineTransport("office", "desk", "worker"));
const { data } = await desk.call("text.upper", { text: "over the line" });
console.log(data);

await Promise.all([desk.close(), worker.close()]);

// #endregion use

// #region room
import { OperationRegistry, peerSource } from "@alkdev/operations";
import { Room, RoomTransport } from "./room-transport.ts";

const room = new Room();
const server = await serveCalls(registry, new RoomTransport(room));

const hub = new OperationRegistry();
await hub.follow(peerSource(new RoomTransport(room)));
const shouted = await hub.execute("text.upper", { text: "by reference" });
console.log(shouted.data);

await Promise.all([hub.close(), server.close()]);

// #endregion room

import assert from "node:assert/strict";

assert.equal(data, "OVER THE LINE");
assert.equal(shouted.data, "BY REFERENCE");
