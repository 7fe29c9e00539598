import type * as Redis from "@redis/client";
import { maxTimerDelay } from "../../internal/timers.ts";
import { CallError, resolveDuration } from "../../operation/index.ts";
import { cannotConnect, createSocketController, credentialsRefused } from "../peer/index.ts";
import { isDenial } from "./errors.ts";

const packageName = "@redis/client";

/** What is used of a client of `@redis/client`. Clients made with `createClient` have it, whatever their settings. */
export interface RedisClient {
  /** Its settings, those of the URL included. */
  readonly options?: { readonly database?: number | undefined } | undefined;
  readonly isReady: boolean;
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  /** Lets go at once. */
  destroy(): void;
  /** Lets go when what was sent has been answered. */
  close(): Promise<unknown>;
  sendCommand(args: string[]): Promise<unknown>;
  subscribe(channels: string | string[], listener: (message: string, channel: string) => unknown): Promise<unknown>;
  unsubscribe(channels: string | string[], listener: (message: string, channel: string) => unknown): Promise<unknown>;
  on(event: string, listener: (error: Error) => void): unknown;
}

/** A client whose settings are used for others. */
export interface RedisTemplate {
  /** Its settings. */
  readonly options?: { readonly socket?: object | undefined } | undefined;
  duplicate(overrides: Record<string, unknown>): RedisClient;
}

/** Where the server is, and how to speak to it. */
interface RedisPlace {
  url?: string | undefined;
  client?: RedisTemplate | undefined;
  connect?: Redis.RedisClientOptions | undefined;
}

/** How connections are made. */
export interface RedisConnectOptions extends RedisPlace {
  /** Milliseconds between signs of life; a server that is silent for three is given up. */
  heartbeat: number;
}

/** In ms. A shorter silence is a busy process more often than a lost link: its timers fire before it reads. */
const shortestSilence = 3_000;

/** Never connected. Copies of one client cost a hundredth of what a new one does. */
let template: RedisTemplate | undefined;

/**
 * Makes a function that makes clients, none of them connected yet. They speak RESP 2, whose replies have the same shape with
 * every server, and keep nothing to be sent later: a request that comes late is worse than one that fails.
 */
export async function createClientMaker(options: RedisConnectOptions): Promise<() => RedisClient> {
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
  const silence = Math.min(Math.max(3 * heartbeat, shortestSilence), maxTimerDelay);
  const { reconnectStrategy = toDelay } = socket;
  template ??= (await loadRedisClient()).createClient() as unknown as RedisTemplate;
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
  // The client writes into what it is given.
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

/** The client's own error would hold the text, and a password with it. */
function assertURL(url: string | undefined): void {
  if (url === undefined || (URL.canParse(url) && /^rediss?:/.test(url))) return;
  throw new TypeError("url must be an address such as redis://127.0.0.1:6379.");
}

/** Connects, or fails with `UNAVAILABLE`: that a server is not there at the start is a mistake more often than not. */
export async function connectFirst(clients: readonly RedisClient[], place: RedisPlace): Promise<void> {
  try {
    await Promise.all(clients.map((client) => connectOnce(client)));
  } catch (error) {
    for (const client of clients) client.destroy();
    throw toConnectError(place, error);
  }
}

/** Why a first connection failed: `UPSTREAM_DENIED` when the server refuses the credentials, else `UNAVAILABLE`. */
export function toConnectError(place: RedisPlace, cause: unknown): CallError {
  const unconnected = { server: "Redis", addresses: toAddresses(place), cause };
  if (!isDenial(cause)) return cannotConnect(unconnected);
  return credentialsRefused(unconnected, "Give the right user and password in `url` or `connect`.");
}

function toAddresses({ url, client, connect }: RedisPlace): string[] {
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

/** The client itself would try again for ever. */
async function connectOnce(client: RedisClient): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    client.on("error", reject);
    client.connect().then(() => resolve(), reject);
  });
}

type SocketOptions = NonNullable<Redis.RedisClientOptions["socket"]>;
type ReconnectStrategy = SocketOptions["reconnectStrategy"];

/** A server that is away is not tried more often than this, in ms, whatever a strategy of the user returns. */
const minReconnectDelay = 40;

/** Refuses a delay that is not a duration; what a function returns is bounded below. */
function boundStrategy(strategy: ReconnectStrategy): ReconnectStrategy {
  if (typeof strategy !== "function") {
    const isOff = strategy === false;
    return isOff ? false : resolveDuration("connect.socket.reconnectStrategy", strategy, undefined);
  }
  return (retries, cause) => {
    const delay = strategy(retries, cause);
    return typeof delay === "number" ? Math.min(Math.max(delay || 0, minReconnectDelay), maxTimerDelay) : delay;
  };
}

/** Twice as long each time, up to a second, and never the same for all who wait. */
function toDelay(retries: number): number {
  return Math.min(50 * 2 ** retries, 1_000) * (0.8 + Math.random() * 0.4);
}

async function loadRedisClient(): Promise<typeof Redis> {
  try {
    return await import("@redis/client");
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") throw error;
    throw new CallError(
      "UNAVAILABLE",
      `The Redis transport needs the package ${packageName}, which is not installed. Install it: npm install ${packageName}`,
      { package: packageName },
      { cause: error, mayHaveRun: false },
    );
  }
}
