import type * as Redis from "@redis/client";
import { backOffDelay } from "../../internal/back-off.ts";
import { toReason } from "../../internal/text.ts";
import { maxTimerDelay } from "../../internal/timers.ts";
import { CallError, loadPeer, resolveDuration } from "../../operation/index.ts";
import { cannotConnect, createSocketController, credentialsRefused } from "../peer/index.ts";

/** The part of a client of `@redis/client` that is used. Clients made with `createClient` have it, whatever their settings. */
export interface RedisClient {
  /** Its settings, those of the URL included. */
  readonly options?: { readonly database?: number | undefined } | undefined;
  readonly isReady: boolean;
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  /** Disconnects immediately. */
  destroy(): void;
  /** Disconnects when all replies have arrived. */
  close(): Promise<unknown>;
  sendCommand(args: string[]): Promise<unknown>;
  subscribe(channels: string | string[], listener: (message: string, channel: string) => unknown): Promise<unknown>;
  unsubscribe(channels: string | string[], listener: (message: string, channel: string) => unknown): Promise<unknown>;
  on(event: string, listener: (error: Error) => void): unknown;
}

/** A client whose settings are used for the connections of a transport. */
export interface RedisClientTemplate {
  /** Its settings. */
  readonly options?: { readonly socket?: object | undefined } | undefined;
  /** Creates another client with the same settings. */
  duplicate(overrides: Record<string, unknown>): RedisClient;
}

/** The address of the server and how to connect to it. */
interface RedisServerOptions {
  url?: string | undefined;
  client?: RedisClientTemplate | undefined;
  connect?: Redis.RedisClientOptions | undefined;
}

/** How connections are made. */
export interface RedisConnectOptions extends RedisServerOptions {
  /** Milliseconds between signs of life; the connection to a server that is silent for three is closed. */
  heartbeat: number;
}

/** In ms. A shorter silence is more often a busy process than a lost connection: its timers fire before it reads. */
const minSilenceMs = 3_000;
/** The delays between attempts to reconnect, in ms. */
const reconnectRange = { first: 100, max: 1_200 };

/** A client that is never connected: copying one costs a hundredth of creating one. */
let template: RedisClientTemplate | undefined;

/**
 * Returns a function that creates clients, which are not connected yet. They use RESP 2, whose replies have the same shape
 * with every server, and queue nothing while disconnected: a request that arrives late is worse than one that fails.
 */
export async function createClientFactory(options: RedisConnectOptions): Promise<() => RedisClient> {
  const { url, client, connect, heartbeat } = options;
  const own = {
    RESP: 2 as const,
    maintNotifications: "disabled" as const, // only RESP 3 has them
    disableOfflineQueue: true,
    commandOptions: { timeout: 0 }, // a timer for each command costs more than the command
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

/** A client whose `destroy()` also destroys a socket that is not connected yet: the client itself cannot reach it. */
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

/** The client's own error would contain the URL, and a password with it. */
function assertURL(url: string | undefined): void {
  if (url === undefined || (URL.canParse(url) && /^rediss?:/.test(url))) return;
  throw new TypeError("url must be an address such as redis://127.0.0.1:6379.");
}

/** Connects, or fails with `UNAVAILABLE`: a server that is missing at the start is usually a mistake. */
export async function connectFirst(clients: readonly RedisClient[], place: RedisServerOptions): Promise<void> {
  try {
    await Promise.all(clients.map((client) => connectOnce(client)));
  } catch (error) {
    for (const client of clients) client.destroy();
    throw toConnectError(place, error);
  }
}

/** Why a first connection failed: `UPSTREAM_DENIED` when the server refuses the credentials, else `UNAVAILABLE`. */
export function toConnectError(place: RedisServerOptions, cause: unknown): CallError {
  const unconnected = { server: "Redis", addresses: toAddresses(place), cause };
  if (!isDenial(cause)) return cannotConnect(unconnected);
  return credentialsRefused(unconnected, "Pass the right user and password in `url` or `connect`.");
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

/** Without this the client would try again for ever. */
async function connectOnce(client: RedisClient): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    client.on("error", reject);
    client.connect().then(() => resolve(), reject);
  });
}

type SocketOptions = NonNullable<Redis.RedisClientOptions["socket"]>;
type ReconnectStrategy = SocketOptions["reconnectStrategy"];

/** Minimum delay between attempts to reconnect, in ms, whatever a strategy of the user returns. */
const minReconnectDelayMs = 40;

/** Rejects a delay that is not a duration; the result of a function has a minimum. */
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

/** Returns whether the server requires other credentials, or does not allow this user to run a command. */
function isDenial(error: unknown): boolean {
  return /^(WRONGPASS|NOAUTH|NOPERM|ERR AUTH|ERR invalid password)\b/.test((error as Error).message);
}

/** `UPSTREAM_DENIED`, if that is why a command failed. */
export function denialOf(error: unknown): CallError | undefined {
  if (!isDenial(error)) return undefined;
  const message = `The Redis server refused: ${toReason(error)}.`;
  return new CallError("UPSTREAM_DENIED", message, undefined, { cause: error, retryable: false, mayHaveRun: false });
}

/** The error of a request that was not sent, or may not have been: `UPSTREAM_DENIED` or `UNAVAILABLE`. */
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
