import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, isIPv6, type Socket } from "node:net";
import { constants } from "node:os";
import type { Duplex } from "node:stream";
import { logger } from "../internal/log.ts";
import { quote } from "../internal/text.ts";
import { isLoopbackHost } from "../internal/urls.ts";
import { settlesWithin } from "../internal/wait.ts";
import { CallError, resolveCount, resolveDuration } from "../operation/index.ts";
import type { FetchServer, UpgradeHandler } from "../serve/server.ts";
import { findMount, findPath, type Mount, toMounts } from "./mounts.ts";
import { FastResponse, fixedHeaders, IncomingInfo, toProblem, toRequestListener } from "./request-listener.ts";

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
   * Closes the listener on SIGINT and SIGTERM. The process then ends unless something else keeps it running. A second
   * signal ends it immediately. @default false
   */
  closeOnSignals?: boolean | undefined;
  /** Time in ms that `close()` lets running calls finish; 0 ends them immediately. @default 10,000 */
  closeTimeout?: number | undefined;
  /**
   * Serves `GET /healthz`, which responds with 200, and `GET /readyz`, which responds with 503 while the listener is
   * closing. With a function, `/readyz` responds with 503 unless it returns `true`. @default true
   */
  health?: boolean | (() => boolean | Promise<boolean>) | undefined;
  /** Maximum number of open connections. Further ones are closed immediately. @default 10,000 */
  maxConnections?: number | undefined;
  /** Maximum size of the URL and the headers of a request together, in bytes. More is refused with 431. @default 32 KiB */
  maxHeaderBytes?: number | undefined;
  /** Maximum time in ms for a client to send the headers of a request. @default 20,000 */
  headersTimeout?: number | undefined;
  /** Maximum time in ms for a client to send a request with its body. @default 60,000 */
  requestTimeout?: number | undefined;
  /** Time in ms after which a connection without requests is closed. @default 65,000, more than that of most proxies */
  keepAliveTimeout?: number | undefined;
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

/**
 * Serves several servers on one port of Node. Each server handles the paths below its key; the longest key wins.
 * @example
 * const listener = await listen({ "/": serveHTTP(registry, { authenticate }) }, { port: 3000 });
 */
export async function listen(
  servers: Readonly<Record<string, FetchServer | UpgradeHandler>>,
  options: ListenOptions = {},
): Promise<Listener> {
  const mounts = toMounts(servers);
  const { host = "127.0.0.1", allowPublic = false } = options;
  const port = resolveCount("port", options.port, 0, { min: 0, max: 65_535 });
  if (!allowPublic && !isLoopbackHost(host)) refuseUnauthenticated(mounts, host);
  const listener = new NodeListener(mounts, host, allowPublic, options);
  await listener.listen(port);
  return listener;
}

function refuseUnauthenticated(mounts: readonly Mount[], host: string): void {
  const open = mounts.find(({ server }) => server.isUnauthenticated);
  if (open === undefined) return;
  const message =
    `The server at ${quote(open.path || "/")} has no authentication, so it may only listen on an address of this machine, ` +
    `not on ${quote(host)}. Pass authenticate to the server, or use the host 127.0.0.1, or pass allowPublic: true to ` +
    "let everyone call its operations.";
  throw new CallError("VALIDATION_ERROR", message, { host, path: open.path || "/" }, { mayHaveRun: false });
}

/** The name in URLs of an address on which a server listens. */
function toHostName(host: string): string {
  if (host === "0.0.0.0" || host === "") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return isIPv6(host) ? `[${host}]` : host;
}

class NodeListener implements Listener {
  readonly #mounts: readonly Mount[];
  readonly #host: string;
  readonly #allowPublic: boolean;
  readonly #health: Exclude<ListenOptions["health"], undefined>;
  readonly #closeTimeout: number;
  readonly #closeOnSignals: boolean;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Responses that are not written completely. */
  readonly #responses = new Set<ServerResponse>();
  readonly closed: Promise<void>;
  #port = 0;
  #resolveClosed!: () => void;
  #onWritten: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(mounts: readonly Mount[], host: string, allowPublic: boolean, options: ListenOptions) {
    this.#mounts = mounts;
    this.#host = host;
    this.#allowPublic = allowPublic;
    this.#health = options.health ?? true;
    this.#closeTimeout = resolveDuration("closeTimeout", options.closeTimeout, 10_000, { zero: true });
    this.#closeOnSignals = options.closeOnSignals ?? false;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    // Node accepts integers only.
    const headersTimeout = Math.ceil(resolveDuration("headersTimeout", options.headersTimeout, 20_000));
    const requestTimeout = Math.ceil(resolveDuration("requestTimeout", options.requestTimeout, 60_000));
    const listener = this;
    // One function for all responses, because each stream would keep its own.
    function onResponseClosed(this: ServerResponse): void {
      listener.#responses.delete(this);
      if (listener.#responses.size === 0) listener.#onWritten?.();
    }
    this.#server = createServer(
      {
        maxHeaderSize: resolveCount("maxHeaderBytes", options.maxHeaderBytes, 32 * 1024, { min: 1 }),
        headersTimeout: Math.min(headersTimeout, requestTimeout), // Node refuses a longer one.
        requestTimeout,
        connectionsCheckingInterval: Math.min(headersTimeout, requestTimeout, 5_000),
        keepAliveTimeout: Math.ceil(resolveDuration("keepAliveTimeout", options.keepAliveTimeout, 65_000)),
      },
      toRequestListener((request, incoming, outgoing) => {
        if (this.#closing !== undefined) outgoing.setHeader("connection", "close");
        this.#responses.add(outgoing);
        outgoing.on("close", onResponseClosed);
        return this.#fetch(request, incoming, outgoing);
      }),
    );
    this.#server.maxConnections = resolveCount("maxConnections", options.maxConnections, 10_000, { min: 1 });
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    if (mounts.some(({ server }) => server.upgrade !== undefined)) {
      this.#server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
    }
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://${toHostName(this.#host)}:${this.#port}`;
  }

  async listen(port: number): Promise<void> {
    try {
      this.#server.listen(port, this.#host);
      await once(this.#server, "listening");
    } catch (error) {
      throw cannotListen(error, this.#host, port);
    }
    this.#port = (this.#server.address() as AddressInfo).port;
    // For example, the process has no file descriptors left for a connection. Without a listener it would end.
    this.#server.on("error", (error) => log.error("node: a connection was not accepted: {error}", { error }));
    if (this.#closeOnSignals) void this.closed.then(closeOnSignals(this));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close().finally(this.#resolveClosed);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const end = performance.now() + this.#closeTimeout;
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const outgoing of this.#responses) if (!outgoing.headersSent) outgoing.setHeader("connection", "close");
    const servers = [...new Set(this.#mounts.map(({ server }) => server))];
    const results = await Promise.allSettled(
      servers.map(async (server) => server.close({ timeout: this.#closeTimeout })),
    );
    await this.#whenWritten(Math.max(end - performance.now(), minFlushMs));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  /** Waits until all responses are written, at most for `timeout` ms. */
  async #whenWritten(timeout: number): Promise<void> {
    if (this.#responses.size === 0) return;
    const written = new Promise<void>((resolve) => {
      this.#onWritten = resolve;
    });
    await settlesWithin(timeout, written);
  }

  #fetch(request: Request, incoming: IncomingMessage, outgoing: ServerResponse): Response | Promise<Response> {
    const path = findPath(request.url);
    if (this.#health !== false && (path === "/healthz" || path === "/readyz")) return this.#checkHealth(request, path);
    const info = new IncomingInfo(request, incoming, outgoing, this.#allowPublic);
    return path.startsWith("/.well-known/")
      ? this.#fetchWellKnown(request, path, info)
      : this.#fetchMounted(request, path, info);
  }

  #fetchMounted(request: Request, path: string, info: IncomingInfo): Response | Promise<Response> {
    const mount = findMount(this.#mounts, path);
    if (mount === undefined) return toProblem(404, "No server is mounted at this path.");
    if (mount.server.fetch !== undefined) return mount.server.fetch(request, info.mountAt(mount.path));
    return toProblem(426, "This path accepts WebSocket connections only.", {
      connection: "Upgrade",
      upgrade: "websocket",
    });
  }

  async #fetchWellKnown(request: Request, path: string, info: IncomingInfo): Promise<Response> {
    for (const mount of this.#mounts) {
      const response = await mount.server.wellKnown?.(request, info.mountAt(mount.path));
      if (response !== undefined) return response;
    }
    return this.#fetchMounted(request, path, info);
  }

  async #checkHealth({ method }: Request, path: "/healthz" | "/readyz"): Promise<Response> {
    if (method !== "GET" && method !== "HEAD") return toProblem(405, "Use GET.", { allow: "GET, HEAD" });
    const isOK = path === "/healthz" || (await this.#isReady());
    const headers = { "content-type": "text/plain; charset=utf-8", ...fixedHeaders };
    return new FastResponse(isOK ? "ok\n" : "not ready\n", { status: isOK ? 200 : 503, headers });
  }

  async #isReady(): Promise<boolean> {
    try {
      if (typeof this.#health === "function" && (await this.#health()) !== true) return false;
    } catch (error) {
      log.warn("node: the health check failed: {error}", { error });
      return false;
    }
    return this.#closing === undefined;
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (request.headers.upgrade?.toLowerCase() !== "websocket") return this.#ignoreUpgrade(request, socket, head);
    const mount = findMount(this.#mounts, findPath(`http://localhost${request.url}`));
    if (mount?.server.upgrade === undefined) return refuseUpgrade(socket, "404 Not Found");
    try {
      const { remoteAddress } = request.socket;
      const info = { basePath: mount.path || undefined, remoteAddress, allowPublic: this.#allowPublic };
      mount.server.upgrade(request, socket, head, info);
    } catch (error) {
      log.error("node: a server failed to handle an upgrade: {error}", { error });
      refuseUpgrade(socket, "500 Internal Server Error");
    }
  }

  /**
   * Handles a request without its `Upgrade` header, which a server may ignore (RFC 9110, section 7.8). The client of Java
   * asks for HTTP/2 with every first request. Node offers no decision before it detaches the parser of HTTP.
   */
  #ignoreUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage, socket: Duplex, head: Buffer): void {
    const lines = [`${method} ${url} HTTP/${httpVersion}`];
    for (let index = 0; index < rawHeaders.length; index += 2) {
      if (rawHeaders[index]?.toLowerCase() !== "upgrade") lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`);
    }
    socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
    this.#server.emit("connection", socket);
  }
}

function refuseUpgrade(socket: Duplex, status: string): void {
  socket.on("error", () => {}); // The client may disconnect before the reply.
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy());
}

function cannotListen(error: unknown, host: string, port: number): CallError {
  const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
  const reasons: Record<string, string> = {
    EADDRINUSE: `Port ${port} of ${host} is in use. Stop the program that uses it, or pass another port; 0 selects a free one.`,
    EACCES: `This user may not listen on port ${port} of ${host}. Pass a port above 1023; 0 selects a free one.`,
    EADDRNOTAVAIL: `${quote(host)} is not an address of this machine. Pass an address of this machine as host.`,
  };
  const message = reasons[code] ?? `Cannot listen on port ${port} of ${host}: ${code}.`;
  return new CallError("UNAVAILABLE", message, { host, port, code }, { cause: error, mayHaveRun: false });
}

/** Closes a listener on the first signal and ends the process on the second. Returns a function that undoes it. */
function closeOnSignals(listener: Listener): () => void {
  let isClosing = false;
  const onSignal = (signal: "SIGINT" | "SIGTERM") => {
    if (isClosing) process.exit(128 + constants.signals[signal]);
    isClosing = true;
    listener.close().catch((error) => {
      log.error("node: a server could not be closed: {error}", { error });
      process.exitCode = 1;
    });
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  return () => void process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
}
