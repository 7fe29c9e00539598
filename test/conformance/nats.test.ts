import { afterAll, test } from "vitest";
import { createNATSTransport } from "../../src/transport/nats/index.ts";
import { startNATS } from "../services/nats.ts";
import { describeStories } from "../stories/calls.ts";
import { createBusNetworks } from "./bus-network.ts";
import { describeTransport } from "./transport.ts";

const service = await startNATS();
afterAll(() => service?.close());

if (service === undefined) test.skip("NATS as a transport: there is no nats-server");
else {
  const connect = (port: number, prefix: string) =>
    createNATSTransport({
      servers: `127.0.0.1:${port}`,
      prefix,
      heartbeat: 5_000,
      limits: { maxMessage: 64 * 1024 },
      connect: { reconnectTimeWait: 20, reconnectJitter: 20 },
    });
  const createNetwork = createBusNetworks(service, connect);
  describeTransport("nats", createNetwork);
  describeStories("over NATS", createNetwork);
}
