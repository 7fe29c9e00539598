// #region send
import { createRegistry, defineNamespace, Type } from "@alkdev/operations";

const Message = Type.Object({ room: Type.String(), from: Type.String(), text: Type.String() });
const rooms = ["kitchen", "garden"];

const define = defineNamespace("chat");

const send = define({
  name: "send",
  type: "mutation",
  description: "Sends a message to a room",
  inputSchema: Type.Object({ room: Type.String(), text: Type.String({ minLength: 1 }) }),
  outputSchema: Message,
  errors: { ROOM_UNKNOWN: Type.Object({ rooms: Type.Array(Type.String()) }) },
  accessControl: { requiredScopes: ["chat:write"] },
  handler: ({ room, text }, { identity, errors }) => {
    if (!rooms.includes(room)) throw errors.ROOM_UNKNOWN({ rooms }, `There is no room "${room}".`);
    const message = { room, from: identity!.id, text };
    history.push(message);
    sent.emit(room, message);
    return message;
  },
});

// #endregion send

// #region listen
import { EventEmitter, on } from "node:events";

const sent = new EventEmitter();
const history: Array<{ room: string; from: string; text: string }> = [];

const listen = define({
  name: "listen",
  type: "subscription",
  description: "Emits the messages of a room, first those that were sent before",
  inputSchema: Type.Object({ room: Type.String() }),
  outputSchema: Message,
  handler: async function* ({ room }, { signal }) {
    const messages = on(sent, room, { signal }); // collects new messages while the old ones are read
    yield* history.filter((message) => message.room === room);
    for await (const [message] of messages) yield message;
  },
});

export const registry = createRegistry({ operations: [send, listen] });
// #endregion listen
