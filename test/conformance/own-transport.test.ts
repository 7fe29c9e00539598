import { LineTransport, limits } from "../../examples/own-transport/line-transport.ts";
import { Radio, RadioTransport } from "../../examples/own-transport/radio-transport.ts";
import { Room, RoomTransport } from "../../examples/own-transport/room-transport.ts";
import type { Identity } from "../../src/index.ts";
import { describeTransport } from "./transport.ts";

const notCopied = "nothing is copied in process";
const noLink = "there is no link";

describeTransport(
  "a user's own in-process transport",
  async () => {
    const room = new Room();
    const join = async () => new RoomTransport(room);
    return { caller: join, server: join, close: async () => {} };
  },
  {
    without: {
      "refuses values that cannot be sent with EXECUTION_ERROR and their path": notCopied,
      "refuses objects that hide their state, in either direction": notCopied,
      "refuses messages above its limit immediately, in either direction": notCopied,
      "works again after its link was lost": noLink,
    },
  },
);

describeTransport(
  "a user's own transport on which every peer receives every frame",
  async () => {
    const radio = new Radio();
    const join = async () => new RadioTransport(radio);
    return { caller: join, server: join, maxMessage: limits.maxMessage, close: async () => {} };
  },
  {
    broadcasts: true,
    without: {
      "works again after its link was lost": noLink,
      "fails immediately when no peer serves the operation": "a station does not know the others",
      "replies to the caller only, also when two use one request id": "every station receives every frame",
      "distributes requests over the servers of an operation": "the first station claims every request",
    },
  },
);

const onePeer = "a line has two ends";

describeTransport(
  "a user's own transport between two peers",
  async () => {
    const { port1, port2 } = new MessageChannel();
    let caller: Identity | undefined;
    return {
      // The caller introduces itself before the server listens, as at the handshake of a socket.
      caller: async (identity) => {
        caller = identity;
        return new LineTransport(port2);
      },
      server: async () => new LineTransport(port1, caller),
      maxMessage: limits.maxMessage,
      close: async () => {},
    };
  },
  {
    without: {
      "works again after its link was lost": "a port that is closed cannot be opened again",
      "runs each request once when several serve it": onePeer,
      "replies to the caller only, also when two use one request id": onePeer,
      "distributes requests over the servers of an operation": onePeer,
      "knows the operations of the peers that are there when a source of them has loaded": onePeer,
    },
  },
);
