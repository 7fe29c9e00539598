import type { RedisClientOptions } from "@redis/client";
import { type BusOptions, BusTransport, resolveBusOptions } from "../bus/index.ts";
import type { Transport } from "../transport.ts";

import { connectFirst, createClientFactory, type RedisClientTemplate, toConnectError } from "./client.ts";
import { RedisEngine } from "./engine.ts";

/** Options of {@link createRedisTransport}. */
export interface RedisTransportOptions extends BusOptions {
  /**
   * Address of the server, such as `redis://127.0.0.1:6379`; `rediss://` for TLS. @default the server on this machine
   */
  url?: string | undefined;
  /** Further options of the client: users, TLS, database. */
  connect?: RedisClientOptions | undefined;
  /** A client of `@redis/client` whose settings are used. The transport makes its own connections with them. */
  client?: RedisClientTemplate | undefined;
  /**
   * Prefix of all keys and channels: letters, digits, `_`, `-`, `.`, `{` and `}`, in parts between colons. Peers with
   * different prefixes, or in different databases, are isolated from each other. @default "operations"
   */
  prefix?: string | undefined;
}

/** Maximum size of a message, in bytes: a server keeps requests in memory. */
const maxMessage = 1024 * 1024;

/** A transport over Redis. */
export interface RedisTransport extends Transport, AsyncDisposable {
  /** Number of malformed messages that have arrived. */
  readonly dropped: number;
}

/**
 * Connects to Redis. Requires the package `@redis/client`. The transport reconnects whenever a connection is lost.
 * Pending calls then fail with `UNAVAILABLE`, and no request is queued. Rejects with `UNAVAILABLE` if the first
 * connection fails, or with `UPSTREAM_DENIED` if the server refuses the credentials.
 */
export async function createRedisTransport(options: RedisTransportOptions = {}): Promise<RedisTransport> {
  const { url, client, connect, prefix = "operations" } = options;
  assertPrefix(prefix);
  const limits = options.limits?.maxMessage === undefined ? { ...options.limits, maxMessage } : options.limits;
  const busOptions = resolveBusOptions({ ...options, limits });
  const { heartbeat } = busOptions;
  const createClient = await createClientFactory({ url, client, connect, heartbeat });
  const [commands, subscriber] = [createClient(), createClient()];
  await connectFirst([commands, subscriber], options);
  const database = commands.options?.database ?? 0;
  let engine: RedisEngine | undefined;
  const transport = new BusTransport((events) => {
    engine = new RedisEngine(commands, subscriber, { prefix, database, heartbeat, createClient }, events);
    return engine;
  }, busOptions);
  try {
    await engine!.ready();
  } catch (error) {
    await transport.close();
    throw toConnectError(options, error);
  }
  return transport;
}

function assertPrefix(prefix: string): void {
  if (/^[\w{}.-]+(:[\w{}.-]+)*$/.test(prefix) && prefix.length <= 256) return;
  throw new TypeError('prefix must be letters, digits, "_", "-", ".", "{" and "}", in parts between colons.');
}
