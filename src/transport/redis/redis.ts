import type { RedisClientOptions } from "@redis/client";
import { resolveCount } from "../../operation/inside.ts";
import { type BrokerOptions, BrokerTransport, resolveBrokerOptions } from "../peer/index.ts";
import type { Transport } from "../transport.ts";
import { RedisAdapter } from "./adapter.ts";
import { connectFirst, createClientFactory, type RedisClientTemplate, toConnectError } from "./client.ts";

/** Options of {@link createRedisTransport}. */
export interface RedisTransportOptions extends BrokerOptions {
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
  /** Maximum number of queued requests per operation, at least 1; the oldest are dropped. @default 100,000 */
  maxQueued?: number | undefined;
}

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
  const brokerOptions = resolveBrokerOptions(options);
  const { heartbeat } = brokerOptions;
  const maxQueued = resolveCount("maxQueued", options.maxQueued, 100_000, { min: 1 });
  const createClient = await createClientFactory({ url, client, connect, heartbeat });
  const [commands, subscriber] = [createClient(), createClient()];
  await connectFirst([commands, subscriber], options);
  let adapter: RedisAdapter | undefined;
  const transport = new BrokerTransport((events) => {
    const database = commands.options?.database ?? 0;
    const adapterOptions = { prefix, database, heartbeat, maxQueued, createClient };
    adapter = new RedisAdapter(commands, subscriber, adapterOptions, events);
    return adapter;
  }, brokerOptions);
  try {
    await adapter!.ready();
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
