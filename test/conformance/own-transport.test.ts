import { Room, RoomTransport } from "../../examples/own-transport/room-transport.ts";
import { describeTransport } from "./transport.ts";

const notCopied = "nothing is copied in process";

describeTransport(
  "a user's own in-process transport",
  async () => {
    const room = new Room();
    const join = async () => new RoomTransport(room);
    return { caller: join, server: join, close: async () => {} };
  },
  {
    skip: {
      "refuses values that cannot be sent with EXECUTION_ERROR and their path": notCopied,
      "refuses objects that hide their state, in either direction": notCopied,
      "refuses messages above its limit immediately, in either direction": notCopied,
      "works again after its link was lost": "there is no link",
    },
  },
);
