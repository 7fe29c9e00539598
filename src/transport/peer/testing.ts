import type { BrokerAdapter } from "./broker-adapter.ts";

/** A frame that was sent, and its target: an address, or `one of` or `all of` the peers that serve an operation. */
export type Sent = Record<string, unknown> & { to: string };

/** Creates an adapter that only records the frames that are sent. */
export function createAdapter(more: Partial<BrokerAdapter> = {}): { adapter: BrokerAdapter; sent: Sent[] } {
  const sent: Sent[] = [];
  const note = (to: string, text: string) => {
    for (const line of text.split("\n")) if (line.startsWith("{")) sent.push({ ...JSON.parse(line), to });
  };
  const adapter: BrokerAdapter = {
    name: "by hand",
    address: "here",
    maxMessage: 1_000_000,
    isConnected: true,
    request: (operationId, _requestId, text) => note(`one of ${operationId}`, text),
    broadcast: (operationId, text) => note(`all of ${operationId}`, text),
    send: note,
    gossip: () => {},
    listen: async () => {},
    serve: async () => {},
    stop: async () => {},
    whenWritable: () => undefined,
    close: async () => {},
    ...more,
  };
  return { adapter, sent };
}
