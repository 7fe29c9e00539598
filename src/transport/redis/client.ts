import type * as Redis from "@redis/client";
import { backOffDelay } from "../../internal/back-off.ts";
import { toReason } from "../../internal/text.ts";
import { maxTimerDelay } from "../../internal/timers.ts";
import { CallError, loadPeer, resolveDuration } from "../../operation/inside.ts";
import { cannotConnect, createSocketController, credentialsRefused } from "../bus/index.ts";

/** The methods of a `@redis/client` client that are used. Every client of `createClient` has them. */
export interface RedisClient {
  /** Settings of the client, including those of the URL. */
  readonly options?: { readonly database?: number | undefined } | undefined;
  /** Whether it is connected and can send commands. */
  readonly isReady: boolean;
  /** Whether it is connected, connecting or reconnecting. */
  readonly isOpen: boolean;
  /** Connects to the server. */
  connect(): Promise<unknown>;
  /** Disconnects immediately. */
  destroy(): void;
  /** Disconnects when all replies have arrived. */
  close(): Promise<unknown>;
  /** Sends a command and returns its reply. */
  sendCommand(args: string[]): Promise<unknown>;
  /** Calls `listener` with the messages of channels. */
  subscribe(channels: string | string[], listener: (message: string, channel: string) => unknown): Promise<unknown>;
  /** Stops calling `listener` with the messages of channels. */
  unsubscribe(channels: string | string[], listener: (message: string, channel: string) => unknown): Promise<unknown>;
  /** Adds a listener for events of the connection. */
  on(event: string, listener: (error: Error) => void): unknown;
}

/** A client whose settings are used for the connections of a transport. */
export interface RedisClientTemplate {
  /** Settings of the client. */
  readonly options?: { readonly socket?: object | undefined } | undefined;
  /** Creates another client with the same settings. */
  duplicate(overrides: Record<string, unknown>): RedisClient;
}

/** The address of the server and the options to connect to it. */
interface RedisServerOptions {
  url?: string | undefined;
  client?: RedisClientTemplate | undefined;
  connect?: Redis.RedisClientOptions | undefined;
}

/** Options for making connections. */
export interface RedisConnectOptions extends RedisServerOptions {
  /** Interval of heartbeats, in ms. A connection that is silent for three intervals is closed. */
  heartbeat: number;
}

/** Minimum silence, in ms, before closing: a busy process runs its timers before it reads. */
const minSilenceMs = 3_000;
/** The delays between attempts to reconnect, in ms. */
const reconnectRange = { first: 100, max: 1_200 };

/** A client that is never connected. Copying it takes a hundredth of the time of creating a new one. */
let template: RedisClientTemplate | undefined;

/**
 * Returns a function that creates clients, which are not connected yet. They use RESP 2, whose replies have the same
 * shape on every server. They queue nothing while disconnected, because a failed request is better than a late one.
 */
export async function createClientFactory(options: RedisConnectOptions): Promise<() => RedisClient> {
  const { url, client, connect, heartbeat } = options;
  const own = {
    RESP: 2 as const,
    maintNotifications: "disabled" as const, // supported by RESP 3 only
    disableOfflineQueue: true,
    commandOptions: { timeout: 0 }, // a timer takes longer than the command itself
  };
  if (client !== undefined) {
    const socket = { ...client.options?.socket } as SocketOptions;
    if (socket.reconnectStrategy !== undefined) socket.reconnectStrategy = boundStrategy(socket.reconnectStrategy);
    return () => createDestroyable((signal) => client.duplicate({ ...own, socket: { ...socket, signal } }));
  }
  assertURL(url ?? connect?.url);
  const socket: SocketOptions = { ...connect?.socket };
  const zero = { zero: true };
  const silence = Math.min(Math.max(3 * heartbeat, minSilenceMs), maxTimerDelay);
  const { reconnectStrategy = (retries: number) => backOffDelay(retries, reconnectRange) } = socket;
  template ??= (await loadRedisClient()).createClient() as unknown as RedisClientTemplate;
  const like = template;
  const settings = {
    ...connect,
    pingInterval: resolveDuration("connect.pingInterval", connect?.pingInterval, heartbeat, zero),
    ...(url === undefined ? {} : { url }),
    ...own,
    socket: {
      ...socket,
      connectTimeout: resolveDuration("connect.socket.connectTimeout", socket.connectTimeout, 5_000, zero),
      socketTimeout: resolveDuration("connect.socket.socketTimeout", socket.socketTimeout, silence, zero),
      reconnectStrategy: boundStrategy(reconnectStrategy),
    },
  };
  // The client modifies the options that it receives.
  return () => createDestroyable((signal) => like.duplicate({ ...settings, socket: { ...settings.socket, signal } }));
}

/** Creates a client whose `destroy()` also destroys a socket that is still connecting, unlike its own method. */
function createDestroyable(create: (signal: AbortSignal) => RedisClient): RedisClient {
  const socket = createSocketController();
  const client = create(socket.signal);
  const destroy = client.destroy.bind(client);
  client.destroy = () => {
    try {
      destroy();
    } finally {
      socket.abort();
    }
  };
  return client;
}

/** Throws if the URL is invalid. The client's own error would contain the URL with its password. */
function assertURL(url: string | undefined): void {
  if (url === undefined || (URL.canParse(url) && /^rediss?:/.test(url))) return;
  throw new TypeError("url must be an address such as redis://127.0.0.1:6379.");
}

/** Connects. Rejects with `UNAVAILABLE` instead of retrying: a server missing at the start is usually a mistake. */
export async function connectFirst(clients: readonly RedisClient[], place: RedisServerOptions): Promise<void> {
  try {
    await Promise.all(clients.map((client) => connectOnce(client)));
  } catch (error) {
    for (const client of clients) client.destroy();
    throw toConnectError(place, error);
  }
}

/** Creates the error of a first connection: `UPSTREAM_DENIED` for refused credentials, otherwise `UNAVAILABLE`. */
export function toConnectError(place: RedisServerOptions, cause: unknown): CallError {
  const unconnected = { server: "Redis", addresses: toAddresses(place), cause };
  if (!isDenial(cause)) return cannotConnect(unconnected);
  return credentialsRefused(unconnected, "Pass a valid user and password in `url` or `connect`.");
}

function toAddresses({ url, client, connect }: RedisServerOptions): string[] {
  if (client !== undefined) return [];
  const address = url ?? connect?.url;
  if (address !== undefined) return [new URL(address).host];
  const {
    host = "127.0.0.1",
    port = 6379,
    path,
  } = { ...connect?.socket } as { host?: string; port?: number; path?: string };
  return [path ?? `${host}:${port}`];
}

/** Connects without retries. By default, the client would retry indefinitely. */
async function connectOnce(client: RedisClient): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    client.on("error", reject);
    client.connect().then(() => resolve(), reject);
  });
}

type SocketOptions = NonNullable<Redis.RedisClientOptions["socket"]>;
type ReconnectStrategy = SocketOptions["reconnectStrategy"];

/** Minimum delay between attempts to reconnect, in ms, regardless of the strategy of the user. */
const minReconnectDelayMs = 40;

/** Rejects a delay that is not a duration, and applies the minimum to the result of a function. */
function boundStrategy(strategy: ReconnectStrategy): ReconnectStrategy {
  if (typeof strategy !== "function") {
    const isOff = strategy === false;
    return isOff ? false : resolveDuration("connect.socket.reconnectStrategy", strategy, undefined);
  }
  return (retries, cause) => {
    const delay = strategy(retries, cause);
    return typeof delay === "number" ? Math.min(Math.max(delay || 0, minReconnectDelayMs), maxTimerDelay) : delay;
  };
}

function loadRedisClient(): Promise<typeof Redis> {
  return loadPeer("@redis/client", "the Redis transport", () => import("@redis/client"));
}

/** Returns whether the server requires different credentials, or does not allow this user to run a command. */
function isDenial(error: unknown): boolean {
  return /^(WRONGPASS|NOAUTH|NOPERM|ERR AUTH|ERR invalid password)\b/.test((error as Error).message);
}

/** Returns `UPSTREAM_DENIED` if the server denied the command. */
export function denialOf(error: unknown): CallError | undefined {
  if (!isDenial(error)) return undefined;
  const message = `The Redis server refused the request: ${toReason(error)}.`;
  return new CallError("UPSTREAM_DENIED", message, undefined, { cause: error, retryable: false, mayHaveRun: false });
}

/** Creates the error of a request that was not sent, or may not have been: `UPSTREAM_DENIED` or `UNAVAILABLE`. */
export function commandFailed(error: Error): CallError {
  const denial = denialOf(error);
  if (denial !== undefined) return denial;
  const message = `The Redis server did not accept the request: ${toReason(error)}.`;
  const options = { cause: error, retryable: true, mayHaveRun: !isRefusal(error) };
  return new CallError("UNAVAILABLE", message, undefined, options);
}

/** Returns whether a command certainly had no effect: the server refused it, or it was not sent. */
function isRefusal(error: Error): boolean {
  const name = error.constructor.name;
  return (
    name === "ClientOfflineError" || name === "ClientClosedError" || name === "SimpleError" || name === "BlobError"
  );
}
