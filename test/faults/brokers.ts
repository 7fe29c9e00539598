import type { BusOptions } from "../../src/transport/bus/index.ts";
import { createNATSTransport, type NATSTransport } from "../../src/transport/nats/index.ts";
import { createRedisTransport } from "../../src/transport/redis/index.ts";

/** The engines between peers. */
export type BrokerName = "nats" | "redis";

/** Connects a peer to a broker on this machine. */
export function connectBroker(
  name: BrokerName,
  port: number,
  options: BusOptions & { prefix?: string | undefined } = {},
): Promise<NATSTransport> {
  if (name === "nats") return createNATSTransport({ servers: `127.0.0.1:${port}`, ...options });
  return createRedisTransport({ url: `redis://127.0.0.1:${port}`, ...options });
}
