import {
  createEventTargetTransport,
  createInProcessTransport,
  InProcessBus,
} from "../../src/transport/in-process/index.ts";
import { describeTransport } from "./transport.ts";

const notCopied = "nothing is copied in process";

describeTransport(
  "in-process",
  async () => {
    const bus = new InProcessBus();
    const join = async () => createInProcessTransport(bus);
    return { asker: join, server: join, close: async () => {} };
  },
  {
    skip: {
      "refuses what cannot travel with EXECUTION_ERROR and its path": notCopied,
      "refuses objects that hide their state, in either direction": notCopied,
      "refuses messages above its limit at once, to either side": notCopied,
      "works again after its link was lost": "there is no link",
    },
  },
);

describeTransport(
  "EventTarget",
  async () => {
    const target = new EventTarget();
    const join = async () => createEventTargetTransport(target);
    return { asker: join, server: join, close: async () => {} };
  },
  {
    skip: {
      "refuses what cannot travel with EXECUTION_ERROR and its path": notCopied,
      "refuses objects that hide their state, in either direction": notCopied,
      "refuses messages above its limit at once, to either side": notCopied,
      "works again after its link was lost": "there is no link",
      "fails at once when nobody serves the operation": "a target does not tell who listens",
      "replies to the asker only, also when two use one request id": "everybody at a target hears everything",
      "spreads requests over those who serve them": "the first to listen takes them all",
    },
  },
);
