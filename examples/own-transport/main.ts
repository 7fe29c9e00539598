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
      accessControl: { requiredScopes: ["text"] },
      handler: ({ text }) => text.toUpperCase(),
    }),
  ],
});

const { port1, port2 } = new MessageChannel();
const worker = await serveCalls(registry, new LineTransport(port1, { id: "desk", scopes: ["text"] }));

const desk = new PendingRequestMap(new LineTransport(port2));
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
const identity = { id: "ada", scopes: ["text"] };
const shouted = await hub.execute("text.upper", { text: "by reference" }, { identity });
console.log(shouted.data);

await Promise.all([hub.close(), server.close()]);

// #endregion room

// #region radio
import { Radio, RadioTransport } from "./radio-transport.ts";

const radio = new Radio();
const station = await serveCalls(registry, new RadioTransport(radio), { trustedBus: true });

const listener = new PendingRequestMap(new RadioTransport(radio));
const heard = await listener.call("text.upper", { text: "to all stations" }, { identity });
console.log(heard.data);

await Promise.all([listener.close(), station.close()]);

// #endregion radio

import assert from "node:assert/strict";

assert.equal(data, "OVER THE LINE");
assert.equal(shouted.data, "BY REFERENCE");
assert.equal(heard.data, "TO ALL STATIONS");
