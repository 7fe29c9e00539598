import { MessageChannel } from "node:worker_threads";
import { LinkHub } from "../../src/transport/link/index.ts";
import { attachPort } from "../../src/transport/worker/worker-transport.ts";
import { describeStories } from "../stories/calls.ts";
import { describeTransport, type TransportNetwork } from "./transport.ts";

const limits = { maxMessage: 64 * 1024 };

/** Ports as workers have them: a channel between every asker and every server. */
async function createNetwork(): Promise<TransportNetwork> {
  const servers: LinkHub[] = [];
  const askers: LinkHub[] = [];
  const link = (one: LinkHub, other: LinkHub) => {
    if (one.isClosed || other.isClosed) return;
    const { port1, port2 } = new MessageChannel();
    attachPort(one, port1, limits);
    attachPort(other, port2, limits);
  };
  return {
    maxMessage: limits.maxMessage,
    async asker() {
      const asker = new LinkHub("worker");
      askers.push(asker);
      for (const server of servers) link(asker, server);
      await Promise.all(Array.from(asker.links, (it) => it.sync()));
      return asker;
    },
    async server() {
      const server = new LinkHub("worker");
      servers.push(server);
      for (const asker of askers) link(asker, server);
      return server;
    },
    async close() {},
  };
}

describeStories("through ports of workers", createNetwork);
describeTransport("worker", createNetwork, {
  skip: {
    "works again after its link was lost": "A port that is closed cannot be opened again; pools start new threads.",
  },
});
