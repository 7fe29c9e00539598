import type { BrokerName } from "../../test/faults/brokers.ts";

/** What soaks run over. */
export const transportNames = ["in-process", "event-target", "worker", "websocket", "nats", "redis"] as const;
/** One of them. */
export type TransportName = (typeof transportNames)[number];

/** Whether the peers use a separate server. */
export function isBroker(name: TransportName): name is BrokerName {
  return name === "nats" || name === "redis";
}

/** Whether caller and server share a heap. */
export function isLocal(name: TransportName): boolean {
  return name === "in-process" || name === "event-target";
}
