import type { ConnectionOptions, NatsConnection } from "@nats-io/transport-node";
import { unavailable } from "../../operation/index.ts";
import { type BusOptions, BusTransport } from "../bus/index.ts";
import type { Transport } from "../transport.ts";
import { NATSEngine } from "./engine.ts";
import { loadNATSClient } from "./load-client.ts";

/** How calls travel over NATS. */
export interface NATSTransportOptions extends BusOptions {
  /** Where the servers are, such as `127.0.0.1:4222`. */
  servers?: string | string[];
  /** What else the client is told: users, tokens, TLS. */
  connect?: ConnectionOptions;
  /** A connection that is there already. It stays open when the transport is closed. */
  connection?: NatsConnection;
  /** What subjects begin with. Peers with different ones do not hear each other. @default "operations" */
  prefix?: string;
  /** What the subjects of answers begin with. With one for each user, the server can keep answers private. @default "_INBOX" */
  inboxPrefix?: string;
}

/** A transport over NATS. */
export interface NATSTransport extends Transport {
  /** How many messages came that made no sense. */
  readonly dropped: number;
}

/**
 * Connects to NATS. Needs the package `@nats-io/transport-node`. The connection is made again whenever it is lost;
 * calls that were pending then fail with `UNAVAILABLE`, and nothing is kept to be sent later.
 */
export async function createNATSTransport(options: NATSTransportOptions): Promise<NATSTransport> {
  const { connection, prefix = "operations", inboxPrefix = "_INBOX" } = options;
  assertSubject("prefix", prefix);
  assertSubject("inboxPrefix", inboxPrefix);
  const used = connection ?? (await connect(options));
  const engineOptions = { prefix, inboxPrefix, ownsConnection: connection === undefined };
  let engine: NATSEngine | undefined;
  const transport = new BusTransport((events) => {
    engine = new NATSEngine(used, engineOptions, events);
    return engine;
  }, options);
  await engine!.ready();
  return transport;
}

async function connect({
  servers,
  inboxPrefix = "_INBOX",
  connect: more,
}: NATSTransportOptions): Promise<NatsConnection> {
  const client = await loadNATSClient();
  try {
    return await client.connect({
      maxReconnectAttempts: -1,
      reconnectTimeWait: 200,
      reconnectJitter: 200,
      pingInterval: 5_000,
      maxPingOut: 2,
      inboxPrefix,
      ...(servers === undefined ? {} : { servers }),
      ...more,
    });
  } catch (error) {
    throw unavailable("The NATS server", { mayHaveRun: false, cause: error });
  }
}

function assertSubject(name: string, subject: string): void {
  if (/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(subject)) return;
  throw new TypeError(`${name} must be letters, digits, "_" and "-", in parts between dots.`);
}
