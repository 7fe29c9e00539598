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
    return { caller: join, server: join, close: async () => {} };
  },
  {
    without: {
      "refuses values that cannot be sent with EXECUTION_ERROR and their path": notCopied,
      "refuses objects that hide their state, in either direction": notCopied,
      "refuses messages above its limit immediately, in either direction": notCopied,
      "works again after its link was lost": "there is no link",
    },
  },
);

describeTransport(
  "EventTarget",
  async () => {
    const target = new EventTarget();
    const join = async () => createEventTargetTransport(target);
    return { caller: join, server: join, close: async () => {} };
  },
  {
    broadcasts: true,
    without: {
      "refuses values that cannot be sent with EXECUTION_ERROR and their path": notCopied,
      "refuses objects that hide their state, in either direction": notCopied,
      "refuses messages above its limit immediately, in either direction": notCopied,
      "works again after its link was lost": "there is no link",
      "fails immediately when no peer serves the operation": "an event target does not list its listeners",
      "replies to the caller only, also when two use one request id":
        "every peer at an event target receives every frame",
      "distributes requests over the servers of an operation": "the first listener claims every request",
    },
  },
);
