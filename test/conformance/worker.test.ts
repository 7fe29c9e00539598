import { MessageChannel } from "node:worker_threads";
import { ChannelTransport, ServingPeer } from "../../src/transport/peer/index.ts";
import { attachPort } from "../../src/transport/worker/worker-transport.ts";
import { describeStories } from "../stories/calls.ts";
import { describeTransport, type TransportNetwork } from "./transport.ts";

const limits = { maxMessage: 64 * 1024 };

/** Connects two ends. */
type Connect = (one: ChannelTransport, other: ChannelTransport) => Promise<void>;

/** A link between every caller and every server. */
async function createNetwork(connect: Connect, close = async () => {}): Promise<TransportNetwork> {
  const servers: ChannelTransport[] = [];
  const callers: ChannelTransport[] = [];
  const link = async (one: ChannelTransport, other: ChannelTransport) => {
    if (!one.isClosed && !other.isClosed) await connect(one, other);
  };
  return {
    maxMessage: limits.maxMessage,
    async caller() {
      const caller = new ChannelTransport("worker", ServingPeer);
      callers.push(caller);
      for (const server of servers) await link(caller, server);
      await Promise.all(Array.from(caller.peers, (it) => it.sync()));
      return caller;
    },
    async server() {
      const server = new ChannelTransport("worker", ServingPeer);
      servers.push(server);
      for (const caller of callers) await link(caller, server);
      return server;
    },
    close,
  };
}

/** Ports as worker threads have them. */
const createPorts = () =>
  createNetwork(async (one, other) => {
    const { port1, port2 } = new MessageChannel();
    attachPort(one, port1, limits);
    attachPort(other, port2, limits);
  });

const without = {
  "works again after its link was lost": "a port that is closed cannot be opened again",
};

describeTransport("worker thread", createPorts, { without });
describeStories("to a worker thread", createPorts);
