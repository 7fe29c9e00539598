import {
  createEventTargetTransport,
  createInProcessTransport,
  InProcessBus,
} from "../../src/transport/in-process/index.ts";
import { describeHTTPStories, describeStories } from "./calls.ts";

describeStories("in process", async () => {
  const bus = new InProcessBus();
  const join = async () => createInProcessTransport(bus);
  return { caller: join, server: join, close: async () => {} };
});

describeStories(
  "over an EventTarget",
  async () => {
    const target = new EventTarget();
    const join = async () => createEventTargetTransport(target);
    return { caller: join, server: join, close: async () => {} };
  },
  { without: { "misspells an operation": "an event target does not list its listeners" } },
);

describeHTTPStories();
