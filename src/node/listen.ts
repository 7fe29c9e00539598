import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from "node:http";
import { type AddressInfo, isIPv6, type Socket } from "node:net";
import { constants } from "node:os";
import type { Duplex } from "node:stream";
import { FairShare } from "../call/fair-share.ts";
import { logger, reportFailure } from "../internal/log.ts";
import { quote } from "../internal/text.ts";
import { isLoopbackHost } from "../internal/urls.ts";
import { settlesWithin } from "../internal/wait.ts";
import { CallError, resolveCount, resolveDuration } from "../operation/inside.ts";
import { replyProblem } from "../serve/exchange.ts";
import type { FetchServer, RegistryServer } from "../serve/server.ts";
import { refuseUpgrade, type UpgradeHandler } from "../serve/upgrade.ts";
import { handleMounted, handleWellKnown, toMounts, upgradeMounted } from "./mounts.ts";
import { handleRequest, lastResponseOf, type NodeExchange, readTarget, runAfterResponses } from "./node-exchange.ts";

const log = logger("node");

/** Minimum time in ms for clients to read their responses after all calls have ended. */
const minFlushMs = 1_000;

/** Options of {@link listen}. */
export interface ListenOptions {
  /** Address or name of the interface, such as `0.0.0.0` for all of them. @default "127.0.0.1" */
  host?: string | undefined;
  /** Port; 0 selects a free one. @default 0 */
  port?: number | undefined;
  /** Whether servers with `authenticate: "none"` may be reached from other machines. @default false */
  allowPublic?: boolean | undefined;
  /**
   * Closes the listener on SIGINT and SIGTERM, and then the registries of its servers. The process then ends unless
   * something else keeps it running. A second signal ends it immediately. @default false
   */
  closeOnSignals?: boolean | undefined;
  /** Time in ms that `close()` lets running calls finish; 0 ends them immediately. @default 10,000 */
  closeTimeout?: number | undefined;
  /**
   * Whether the program can handle calls. `GET /readyz` responds with 503 unless it returns `true`, and while the
   * listener is closing. `GET /healthz` always responds with 200. @default always
   */
  health?: (() => boolean | Promise<boolean>) | undefined;
  /**
   * Maximum number of open connections. Further ones are closed immediately; above half of it, those of the address that has
   * the most. Behind a proxy, all connections have its address. @default 10,000
   */
  maxConnections?: number | undefined;
  /**
   * Options of `createServer` of `node:http`, to change limits: the size of the URL and the headers together
   * (`maxHeaderSize`, 32 KiB, else 431), the times for the headers (`headersTimeout`, 20,000 ms) and the whole request
   * (`requestTimeout`, 60,000 ms, else 408), and idle connections (`keepAliveTimeout`, 65,000 ms).
   */
  server?: ServerOptions | undefined;
}

/** A port on which servers receive requests. */
export interface Listener extends AsyncDisposable {
  /** The address without a path, such as `http://127.0.0.1:3000`. */
  readonly url: string;
  /** The port. */
  readonly port: number;
  /** Resolves when the listener is closed, also by a signal. Close then what the servers use. */
  readonly closed: Promise<void>;
  /**
   * Stops accepting connections, closes the servers, which lets running calls finish, and closes all connections. Rejects
   * if a server could not be closed.
   */
  close(): Promise<void>;
}

const serverDefaults: ServerOptions = {
  maxHeaderSize: 32 * 1024,
  headersTimeout: 20_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 65_000, // Longer than that of most proxies.
};

/**
 * Serves several servers on one port of Node. Each server handles the paths below its key; the longest key wins.
 * @example
 * const listener = await listen({ "/": serveHTTP(registry, { authenticate }) }, { port: 3000 });
 */
export async function listen(
  servers: Readonly<Record<string, FetchServer | UpgradeHandler>>,
  options: ListenOptions = {},
): Promise<Listener> {
  const { host = "127.0.0.1", allowPublic = false, health = () => true } = options;
  const port = resolveCount("port", options.port, 0, { min: 0, max: 65_535 });
  const closeTimeout = resolveDuration("closeTimeout", options.closeTimeout, 10_000, { zero: true });
  const mounts = toMounts(servers);
  const mounted = new Set(mounts.map((mount) => mount.server));
  const open = mounts.find(({ server }) => server.isUnauthenticated);
  if (open !== undefined && !allowPublic && !isLoopbackHost(host)) throw unauthenticated(open.path || "/", host);
  for (const mountedServer of mounted) await mountedServer.ready?.();

  const connections = new Set<Socket>();
  const share = new FairShare(resolveCount("maxConnections", options.maxConnections, 10_000, { min: 1 }));
  const handle = (exchange: NodeExchange) => {
    const { path, outgoing } = exchange;
    if (closing !== undefined) outgoing.setHeader("connection", "close");
    if (path === "/healthz") return replyHealth(exchange, true);
    if (path === "/readyz") return replyHealth(exchange, closing === undefined && isReady(health));
    return (path.startsWith("/.well-known/") ? handleWellKnown : handleMounted)(mounts, exchange);
  };
  const server = createServer({ ...serverDefaults, ...options.server }, (incoming, outgoing) =>
    handleRequest(incoming, outgoing, incoming.url, handle, { allowPublic }),
  );
  // Without this, Node asks for the body before the caller is authenticated and the length is checked.
  server.on("checkContinue", (incoming: IncomingMessage, outgoing: ServerResponse) =>
    handleRequest(incoming, outgoing, incoming.url, handle, { allowPublic, expectsContinue: true }),
  );
  if (mounts.some((mount) => mount.server.upgrade !== undefined)) {
    server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
      socket.on("error", () => {}); // The client may disconnect before the handshake ends.
      runAfterResponses(socket, () => {
        socket.setTimeout(0); // That of idle connections, which the last response has started.
        const target = readTarget(request, request.url);
        if ("reason" in target) return refuseUpgrade(socket, target.status, target.reason);
        if (request.headers.upgrade?.toLowerCase() !== "websocket") return ignoreUpgrade(server, request, socket, head);
        upgradeMounted(mounts, target.path, [request, socket, head], allowPublic).catch((error) => {
          reportFailure(log, "node: a server failed to handle an upgrade: {error}", error);
          refuseUpgrade(socket, 500, "The server failed to handle the request.");
        });
      });
    });
  }

  server.on("connection", (socket: Socket) => {
    if (connections.has(socket)) return; // After an upgrade that was ignored.
    const { remoteAddress = "" } = socket;
    if (!share.take(remoteAddress)) return void socket.destroy();
    connections.add(socket);
    socket.once("close", () => {
      connections.delete(socket);
      share.release(remoteAddress);
    });
  });

  const drain = async (): Promise<void> => {
    const end = performance.now() + closeTimeout;
    const stopped = once(server, "close");
    server.close();
    const last = Array.from(connections, lastResponseOf);
    for (const response of last) if (response?.headersSent === false) response.setHeader("connection", "close");
    const results = await Promise.allSettled(Array.from(mounted, async (one) => one.close({ timeout: closeTimeout })));
    const written = Promise.allSettled(Array.from(connections, whenWritten));
    await settlesWithin(Math.max(end - performance.now(), minFlushMs), written);
    for (const socket of connections) socket.destroy();
    await stopped;
    for (const result of results) if (result.status === "rejected") throw result.reason;
  };
  let closing: Promise<void> | undefined;
  let resolveClosed!: () => void;
  const closed = new Promise<void>((resolve) => {
    resolveClosed = resolve;
  });
  const close = () => {
    closing ??= drain().finally(resolveClosed);
    return closing;
  };
  const actual = await startListening(server, host, port);
  const listener = {
    url: `http://${toHostName(host)}:${actual}`,
    port: actual,
    closed,
    close,
    [Symbol.asyncDispose]: close,
  };
  if (options.closeOnSignals) closeOnSignals(listener, new Set(Array.from(mounted, ({ registry }) => registry)));
  return listener;
}

async function whenWritten(socket: Socket): Promise<void> {
  const response = lastResponseOf(socket);
  if (response === undefined || response.writableFinished) return;
  await Promise.race([once(response, "finish"), once(socket, "close")]);
}

/** Returns the port. */
async function startListening(server: Server, host: string, port: number): Promise<number> {
  try {
    await once(server.listen(port, host), "listening");
  } catch (error) {
    throw cannotListen(error, host, port);
  }
  // For example, the process has no file descriptors left for a connection. Without a listener it would end.
  server.on("error", (error) => reportFailure(log, "node: a connection was not accepted: {error}", error));
  return (server.address() as AddressInfo).port;
}

/** The name in URLs of an address on which a server listens. */
function toHostName(host: string): string {
  if (host === "0.0.0.0" || host === "") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return isIPv6(host) ? `[${host}]` : host;
}

async function replyHealth(exchange: NodeExchange, ready: boolean | Promise<boolean>): Promise<void> {
  const { method } = exchange;
  if (method !== "GET" && method !== "HEAD") return replyProblem(exchange, 405, "Use GET.", { allow: "GET, HEAD" });
  if (!(await ready)) return replyProblem(exchange, 503, "The server is not ready.");
  const headers = { "content-type": "text/plain;charset=UTF-8", "cache-control": "no-store" };
  exchange.reply(200, { ...headers, "x-content-type-options": "nosniff" }, "ok\n");
}

async function isReady(health: () => boolean | Promise<boolean>): Promise<boolean> {
  try {
    return (await health()) === true;
  } catch (error) {
    log.warn("node: the health check failed: {error}", { error });
    return false;
  }
}

/**
 * Handles a request without its `Upgrade` header, which a server may ignore (RFC 9110, section 7.8). The client of Java
 * asks for HTTP/2 with every first request. Node offers no decision before it detaches the parser of HTTP.
 */
function ignoreUpgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() !== "upgrade") lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  server.emit("connection", socket);
}

function unauthenticated(path: string, host: string): CallError {
  const message = `The server at ${quote(path)} has no authentication, so it may not listen on ${quote(host)}. Pass authenticate to the server, or the host 127.0.0.1, or allowPublic: true to let everyone call its operations.`;
  return new CallError("VALIDATION_ERROR", message, { host, path }, { mayHaveRun: false });
}

function cannotListen(error: unknown, host: string, port: number): CallError {
  const { code = "unknown error" } = error as NodeJS.ErrnoException;
  const message =
    code === "EADDRINUSE"
      ? `Port ${port} of ${host} is in use. Stop the program that uses it, or pass another port; 0 selects a free one.`
      : `Cannot listen on port ${port} of ${host}: ${code}. Pass an address of this machine and a port that this user may use.`;
  return new CallError("UNAVAILABLE", message, { host, port, code }, { cause: error, mayHaveRun: false });
}

/** Closes a listener and registries on the first signal, and ends the process on the second. */
function closeOnSignals(listener: Listener, registries: Iterable<RegistryServer["registry"]>): void {
  let isClosing = false;
  const onSignal = (signal: "SIGINT" | "SIGTERM") => {
    if (isClosing) process.exit(128 + constants.signals[signal]);
    isClosing = true;
    closeAll().finally(stopListening);
  };
  const stopListening = () => process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  const closeAll = async () => {
    const fail = (error: unknown) => {
      reportFailure(log, "node: a server could not be closed: {error}", error);
      process.exitCode = 1;
    };
    await listener.close().catch(fail);
    await Promise.all(Array.from(registries, (registry) => registry?.close().catch(fail)));
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  void listener.closed.then(() => isClosing || stopListening());
}
