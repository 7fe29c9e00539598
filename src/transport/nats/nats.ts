import type { ConnectionOptions, NatsConnection } from "@nats-io/transport-node";
import { type CallError, isCallError, loadPeer, resolveDuration } from "../../operation/inside.ts";
import { type BusOptions, BusTransport, cannotConnect, credentialsRefused, resolveBusOptions } from "../bus/index.ts";
import type { Transport } from "../transport.ts";
import { NATSEngine } from "./engine.ts";

/** Options of {@link createNATSTransport}. */
export interface NATSTransportOptions extends BusOptions {
  /**
   * Addresses of the servers, such as `127.0.0.1:4222`; `tls://` requires TLS. Users and passwords belong in `connect`.
   * @default 127.0.0.1:4222
   */
  servers?: string | string[] | undefined;
  /** Further options of the client: users, tokens, TLS. Durations are in ms, above 0. */
  connect?: ConnectionOptions | undefined;
  /** An existing connection. It stays open when the transport is closed. */
  connection?: NatsConnection | undefined;
  /** Prefix of all subjects. Peers with different prefixes are isolated from each other. @default "operations" */
  prefix?: string | undefined;
  /** Prefix of reply subjects. With one prefix per user, the server can keep replies private. @default "_INBOX" */
  inboxPrefix?: string | undefined;
}

/** A transport over NATS. */
export interface NATSTransport extends Transport, AsyncDisposable {
  /** Number of malformed messages that have arrived. */
  readonly dropped: number;
}

/**
 * Connects to NATS. Requires the package `@nats-io/transport-node`. The transport reconnects whenever the connection is
 * lost. Pending calls then fail with `UNAVAILABLE`, and no request is queued. Rejects with `UNAVAILABLE` if the first
 * connection fails, or with `UPSTREAM_DENIED` if the server refuses the credentials.
 */
export async function createNATSTransport(options: NATSTransportOptions = {}): Promise<NATSTransport> {
  const { connection, prefix = "operations", inboxPrefix = "_INBOX" } = options;
  assertSubject("prefix", prefix);
  assertSubject("inboxPrefix", inboxPrefix);
  const busOptions = resolveBusOptions(options);
  const used = connection ?? (await connect(options));
  const engineOptions = { prefix, inboxPrefix, ownsConnection: connection === undefined };
  let engine: NATSEngine | undefined;
  let transport: NATSTransport | undefined;
  try {
    transport = new BusTransport((events) => {
      engine = new NATSEngine(used, engineOptions, events);
      return engine;
    }, busOptions);
    await engine!.ready();
    return transport;
  } catch (error) {
    await transport?.close();
    throw toConnectError(options, error);
  }
}

async function connect(options: NATSTransportOptions): Promise<NatsConnection> {
  const { servers, inboxPrefix = "_INBOX", connect: more } = options;
  const client = await loadPeer(
    "@nats-io/transport-node",
    "the NATS transport",
    () => import("@nats-io/transport-node"),
  );
  try {
    return await client.connect({
      maxReconnectAttempts: -1,
      ignoreAuthErrorAbort: true, // a server that is being reconfigured may refuse all clients for a while
      reconnectTimeWait: 200,
      reconnectJitter: 200,
      pingInterval: 5_000,
      maxPingOut: 2,
      inboxPrefix,
      ...(servers === undefined ? {} : { servers }),
      // The client itself ignores the scheme of an address.
      ...(toAddresses(options).some((address) => address.startsWith("tls://")) ? { tls: {} } : {}),
      ...checkClientOptions(more),
    });
  } catch (error) {
    throw toConnectError(options, error);
  }
}

/** Minimum delay between attempts to reconnect, in ms, regardless of `reconnectDelayHandler`. */
const minReconnectDelayMs = 50;

/** Rejects numbers that would make the client reconnect or ping without a pause. Omits undefined options. */
function checkClientOptions(given: ConnectionOptions = {}): ConnectionOptions {
  const options = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as ConnectionOptions;
  for (const name of ["reconnectTimeWait", "pingInterval", "timeout"] as const) {
    resolveDuration(`connect.${name}`, options[name], undefined);
  }
  for (const name of ["reconnectJitter", "reconnectJitterTLS"] as const) {
    resolveDuration(`connect.${name}`, options[name], undefined, { zero: true });
  }
  const { reconnectDelayHandler: toDelay } = options;
  if (typeof toDelay !== "function") return options;
  return { ...options, reconnectDelayHandler: () => Math.max(toDelay() || 0, minReconnectDelayMs) };
}

function toConnectError(options: NATSTransportOptions, cause: unknown): CallError {
  if (isCallError(cause)) return cause;
  const unconnected = { server: "NATS", addresses: toAddresses(options), cause };
  if ((cause as Error).name !== "AuthorizationError") return cannotConnect(unconnected);
  return credentialsRefused(unconnected, "Pass a valid user and password, or a valid token, in `connect`.");
}

function toAddresses({ servers, connect: more, connection }: NATSTransportOptions): string[] {
  if (connection !== undefined) return [];
  return [more?.servers ?? servers ?? `127.0.0.1:${more?.port ?? 4222}`].flat();
}

function assertSubject(name: string, subject: string): void {
  if (/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(subject)) return;
  throw new TypeError(`${name} must be letters, digits, "_" and "-", in parts between dots.`);
}
