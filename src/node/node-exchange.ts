import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { startTimer } from "../internal/timers.ts";
import { isCallError } from "../operation/inside.ts";
import { holdBytes } from "../serve/byte-budget.ts";
import { parseHost } from "../serve/cross-origin.ts";
import { clientGone, type Exchange, handleSafely, RawHeaders, replyProblem } from "../serve/exchange.ts";
import { bodyTooLarge, bodyUsed } from "../serve/refusals.ts";
import type { FetchServer } from "../serve/server.ts";
import { type Heartbeat, type RunStream, runStream } from "../serve/stream-writer.ts";

/** Bodies are written in parts of this many bytes. */
const partBytes = 16 * 1024;
/** Time in ms in which a client must read a part of what waits for it. */
const progressTimeoutMs = 30_000;

/** Time in ms in which a client may send the rest of a body after the response. */
const discardTimeoutMs = 1_000;

/** Where a request goes. */
interface RequestTarget {
  /** The host and its port, as in a URL. */
  readonly host: string;
  /** The path, normalised as by `URL`. */
  readonly path: string;
  /** The query without its question mark. */
  readonly query: string;
}

/** What the host knows about a request that it does not contain. */
export interface NodeRequestOptions {
  /** Whether the operator allowed public access without authentication. */
  readonly allowPublic?: boolean | undefined;
  /** Whether the client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue?: boolean | undefined;
}

/** An exchange of Node's HTTP servers. */
export class NodeExchange implements Exchange {
  // Assigned in the constructor instead of defined as class fields, because that is faster and there is one for each call.
  declare readonly incoming: IncomingMessage;
  declare readonly outgoing: ServerResponse;
  declare readonly method: string;
  declare readonly path: string;
  declare readonly query: string;
  declare readonly headers: RawHeaders;
  declare readonly remoteAddress: string | undefined;
  declare readonly allowPublic: boolean | undefined;
  declare basePath: string | undefined;
  /** The body, if the framework that has received the request has read it. */
  declare body: Uint8Array | undefined;
  declare private request: Request | undefined;
  declare private readonly host: string;
  declare private expectsContinue: boolean;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse, target: RequestTarget, options: NodeRequestOptions) {
    this.incoming = incoming;
    this.outgoing = outgoing;
    this.method = incoming.method!;
    this.host = target.host;
    this.path = target.path;
    this.query = target.query;
    this.headers = new RawHeaders(incoming.rawHeaders);
    this.remoteAddress = incoming.socket.remoteAddress;
    this.allowPublic = options.allowPublic;
    this.expectsContinue = options.expectsContinue === true;
    this.basePath = undefined;
    this.body = undefined;
    this.request = undefined;
  }

  get url(): string {
    const { incoming, host, path, query } = this;
    const scheme = (incoming.socket as { encrypted?: boolean }).encrypted ? "https" : "http";
    return `${scheme}://${host}${path}${query && `?${query}`}`;
  }

  async bytes(maxBytes: number): Promise<Uint8Array> {
    const { incoming, body } = this;
    if (body !== undefined) {
      if (body.byteLength > maxBytes) throw bodyTooLarge(maxBytes);
      return body;
    }
    if (incoming.readableDidRead) throw bodyUsed();
    if (incoming.destroyed) throw clientGone();
    if (Number(this.headers.get("content-length")) > maxBytes) throw bodyTooLarge(maxBytes);
    if (this.expectsContinue) this.#continue();
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let size = 0;
      incoming.on("data", (chunk: Buffer) => {
        size += chunk.byteLength;
        if (size <= maxBytes) chunks.push(chunk);
        else reject(bodyTooLarge(maxBytes)); // Node discards the rest after the response.
      });
      incoming.on("end", () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
      incoming.on("error", () => {}); // `close` follows
      incoming.on("close", () => incoming.readableEnded || reject(clientGone()));
    });
  }

  onClose(listener: () => void): void {
    const { outgoing, incoming } = this;
    if (outgoing.destroyed || incoming.socket.destroyed) return listener();
    outgoing.on("close", listener); // Not once(), whose wrapper would be a part of the memory of an idle stream.
    // Behind another response of the connection, which only a framework allows, Node does not report its end.
    if (outgoing.socket === null) incoming.socket.once("close", listener);
  }

  reply(status: number, headers: Readonly<Record<string, string>>, body: string | Uint8Array | null = null): void {
    const { outgoing } = this;
    if (outgoing.headersSent || outgoing.destroyed) return;
    // A string takes up to three bytes for each character.
    const isSmall = body === null || body.length * 3 <= partBytes;
    const sent = isSmall || typeof body !== "string" ? body : Buffer.from(body);
    const length = typeof sent === "string" ? Buffer.byteLength(sent) : (sent?.byteLength ?? 0);
    const hasLength = status !== 204 && status !== 304;
    const hasBody = sent !== null && length > 0 && this.method !== "HEAD";
    this.#writeHead(status, hasLength ? { ...headers, "content-length": String(length) } : headers);
    if (!hasBody) outgoing.end();
    else if (length <= partBytes) outgoing.end(sent);
    else void this.#writeParts(sent as Uint8Array).then(() => outgoing.end(), ignore);
    if (this.incoming.socket.writableLength > 0) endWithoutProgress(this.incoming.socket);
  }

  stream(headers: Readonly<Record<string, string>>, run: RunStream, heartbeat?: Heartbeat): void {
    const { outgoing } = this;
    if (outgoing.headersSent || outgoing.destroyed) return;
    this.#writeHead(200, headers);
    if (this.method === "HEAD") return void outgoing.end();
    const write = async (text: string) => this.#write(text);
    const end = () => void outgoing.end();
    const breakOff = () => void outgoing.destroy();
    void runStream({ write, end, breakOff }, run, heartbeat);
  }

  toRequest(): Request {
    this.request ??= this.#createRequest();
    return this.request;
  }

  #createRequest(): Request {
    const { incoming, outgoing, method, body } = this;
    const headers = new Headers();
    for (let index = 0; index < incoming.rawHeaders.length; index += 2) {
      headers.append(incoming.rawHeaders[index]!, incoming.rawHeaders[index + 1]!);
    }
    const abort = new AbortController();
    this.onClose(() => {
      if (!outgoing.writableFinished) abort.abort();
    });
    const init: RequestInit = { method, headers, signal: abort.signal };
    if (method === "GET" || method === "HEAD") return new Request(this.url, init);
    if (body !== undefined) return new Request(this.url, { ...init, body: body as Uint8Array<ArrayBuffer> });
    if (incoming.readableDidRead || !this.#hasBody()) return new Request(this.url, init);
    if (this.expectsContinue) this.#continue();
    return new Request(this.url, { ...init, body: toWebStream(incoming), duplex: "half" } as RequestInit);
  }

  send(response: Response): void {
    this.#send(response).catch((error) => {
      if (isCallError(error)) replyProblem(this, 503, error.message, { "retry-after": "1" });
      this.outgoing.destroy(); // Has no effect after a whole response.
    });
  }

  /** Counts the bytes that were not sent. Servers that do not return a response count theirs. */
  async #send(response: Response): Promise<void> {
    const { outgoing } = this;
    const owner = `address ${this.remoteAddress}`;
    const headers: Record<string, string | string[]> = Object.fromEntries(response.headers);
    if (response.headers.has("set-cookie")) headers["set-cookie"] = response.headers.getSetCookie();
    const { status, body } = response;
    if (body === null) return this.reply(status, headers as Record<string, string>);
    if (outgoing.headersSent || outgoing.destroyed) return body.cancel();
    if (headers["content-type"] === "application/json") {
      const bytes = new Uint8Array(await response.arrayBuffer());
      outgoing.once("close", holdBytes(owner, bytes.byteLength));
      return this.reply(status, headers as Record<string, string>, bytes);
    }
    this.#writeHead(status, headers);
    const reader = body.getReader();
    this.onClose(() => void reader.cancel().catch(ignore));
    if (this.method === "HEAD") return void outgoing.end();
    setImmediate(() => outgoing.destroyed || outgoing.flushHeaders()); // The first part may take any time.
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const release = holdBytes(owner, part.value.byteLength);
      await this.#writeParts(part.value).finally(release);
    }
    outgoing.end();
    if (this.incoming.socket.writableLength > 0) endWithoutProgress(this.incoming.socket);
  }

  #hasBody(): boolean {
    const length = this.headers.get("content-length");
    return length === null ? this.headers.has("transfer-encoding") : length !== "0";
  }

  #continue(): void {
    this.expectsContinue = false;
    this.outgoing.writeContinue();
  }

  #writeHead(status: number, headers: Readonly<Record<string, string | string[]>>): void {
    // Whether the client still sends the body is unknown, and so is where its next request begins.
    if (this.expectsContinue) this.outgoing.setHeader("connection", "close");
    const { incoming, outgoing } = this;
    if (!incoming.complete && this.#hasBody()) outgoing.once("finish", () => discardBody(incoming));
    outgoing.writeHead(status, headers as Record<string, string | string[]>);
  }

  async #writeParts(bytes: Uint8Array): Promise<void> {
    for (let start = 0; start < bytes.byteLength; start += partBytes) {
      await this.#write(bytes.subarray(start, start + partBytes));
    }
  }

  /** Sends the headers, if they were not sent, and a part of the body. Resolves when the client has room. */
  #write(part: string | Uint8Array): Promise<void> | void {
    const { outgoing, incoming } = this;
    if (outgoing.destroyed || incoming.socket.destroyed) return Promise.reject(clientGone());
    if (part.length === 0) return outgoing.flushHeaders();
    if (outgoing.write(part)) return;
    endWithoutProgress(incoming.socket);
    return new Promise((resolve, reject) => {
      const settle = () => {
        outgoing.off("drain", settle).off("close", settle);
        if (outgoing.destroyed) reject(clientGone());
        else resolve();
      };
      outgoing.on("drain", settle).on("close", settle);
    });
  }
}

/** Connections with bytes that wait for their clients. */
const waiting = new WeakSet<Socket>();

/** Ends a connection whose client reads nothing of what waits for it. */
function endWithoutProgress(socket: Socket): void {
  if (waiting.has(socket)) return;
  waiting.add(socket);
  const countSent = () => socket.bytesWritten - socket.writableLength;
  const watch = (before: number) => {
    const check = () => {
      if (socket.destroyed || socket.writableLength === 0) waiting.delete(socket);
      else if (countSent() === before) socket.destroy();
      else watch(countSent());
    };
    startTimer(check, progressTimeoutMs, { keepsAlive: false });
  };
  watch(countSent());
}

/** Reads on after a response, because a client may read it only after it has sent its body. */
function discardBody(incoming: IncomingMessage): void {
  if (incoming.complete) return;
  incoming.removeAllListeners("data").removeAllListeners("readable").resume();
  const timer = startTimer(() => incoming.socket.destroy(), discardTimeoutMs, { keepsAlive: false });
  incoming.once("close", () => timer.stop());
}

/** Unlike `Readable.toWeb`, leaves the connection open when the body is cancelled, so that the client gets the response. */
function toWebStream(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const chunks = incoming.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array, undefined>;
  return new ReadableStream(
    {
      pull: async (controller) => {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await chunks.return?.()),
    },
    { highWaterMark: 0 },
  );
}

function ignore(): void {}

// Which requests of a connection become exchanges, and when.

/** Handles an exchange of Node's HTTP servers. */
export type HandleNodeExchange = (exchange: NodeExchange) => void | Promise<void>;

/** Why a request is refused before a server receives it. */
interface Refusal {
  readonly status: number;
  readonly reason: string;
}

/** Maximum number of requests that wait for the responses to earlier ones of their connection. */
const maxWaiting = 100;
/** Maximum number of headers of a request. More are refused: Node would ignore those after the 2,000th. */
const maxHeaders = 200;

/** What is known about a connection. */
interface Connection {
  /** The newest response, which is written after all others. */
  last: ServerResponse | undefined;
  /** Number of requests that wait for responses. */
  waiting: number;
  /** Whether a request was malformed. What follows it may be a part of its body. */
  isMalformed: boolean;
}

const connections = new WeakMap<Socket, Connection>();

function connectionOf(socket: Socket): Connection {
  const known = connections.get(socket);
  if (known !== undefined) return known;
  const connection = { last: undefined, waiting: 0, isMalformed: false };
  connections.set(socket, connection);
  return connection;
}

/** Returns the newest response of a connection; `undefined` before the first request. */
export function lastResponseOf(socket: Socket): ServerResponse | undefined {
  return connections.get(socket)?.last;
}

/**
 * Handles a request to a URL when the responses to earlier ones of its connection were written, so that a client that does
 * not read has one result in memory. Malformed requests never reach `handle`, and its errors are status 500.
 */
export function handleRequest(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  url: string | undefined,
  handle: HandleNodeExchange,
  options: NodeRequestOptions = {},
): void {
  const connection = runAfterResponses(incoming.socket, () => {
    const target = readTarget(incoming, url);
    if (!("reason" in target)) {
      return void handleSafely(new NodeExchange(incoming, outgoing, target, options), handle);
    }
    outgoing.setHeader("connection", "close");
    const exchange = new NodeExchange(incoming, outgoing, { host: "localhost", path: "/", query: "" }, options);
    replyProblem(exchange, target.status, target.reason);
  });
  connection.last = outgoing;
}

/** Runs a function when all responses of a connection were written, unless it is closed before. Returns the connection. */
export function runAfterResponses(socket: Socket, run: () => void): Connection {
  const connection = connectionOf(socket);
  if (connection.last === undefined || connection.last.closed) {
    run();
    return connection;
  }
  connection.waiting += 1;
  if (connection.waiting > maxWaiting) socket.destroy();
  connection.last.once("close", () => {
    connection.waiting -= 1;
    if (!socket.destroyed) run();
  });
  return connection;
}

/** Lets a server handle an exchange with a `Request` and a `Response`. */
export async function handleRequestOf(server: Pick<FetchServer, "fetch">, exchange: NodeExchange): Promise<void> {
  const { basePath, remoteAddress, allowPublic } = exchange;
  exchange.send(await server.fetch(exchange.toRequest(), { basePath, remoteAddress, allowPublic }));
}

/** What most hosts are. Parsing one as a URL would be a large part of the cost of a request. */
const commonHost = /^[a-z\d.-]+(?::[1-5]?\d{1,4})?$/;
/** What `URL` changes in a path or query. */
const changedByURL = /\/\.|%2e|[\\#"'<>`{}|^\s]|[^!-~]/i;

const malformedTarget = "The URL or the Host header of the request is malformed.";

/**
 * Reads where a request goes. Refuses what a proxy in front of this server may have understood differently (RFC 9112,
 * sections 3.2 and 6.1), and everything that follows such a request on its connection.
 */
export function readTarget({ socket, rawHeaders, httpVersion }: IncomingMessage, url = ""): RequestTarget | Refusal {
  const connection = connectionOf(socket);
  const malformed = (reason: string): Refusal => {
    connection.isMalformed = true;
    return { status: 400, reason };
  };
  if (connection.isMalformed) return malformed("An earlier request of the connection is malformed.");
  if (rawHeaders.length > 2 * maxHeaders) {
    return { status: 431, reason: `The request has more than ${maxHeaders} headers.` };
  }
  const headers = new RawHeaders(rawHeaders); // Node creates its own headers when they are read.
  const given = headers.get("host");
  if (given?.includes(",")) return malformed("The request has more than one Host header.");
  const encoding = headers.get("transfer-encoding");
  if (encoding !== null && (encoding.toLowerCase() !== "chunked" || httpVersion === "1.0")) {
    return malformed("The request has a Transfer-Encoding that is not supported. Use chunked, with HTTP/1.1.");
  }
  const host = given === null || commonHost.test(given) ? given : parseHost(given)?.host;
  if (host === null || host === undefined) return malformed(malformedTarget);
  if (url.startsWith("/") && !changedByURL.test(url)) {
    const mark = url.indexOf("?");
    return mark === -1
      ? { host, path: url, query: "" }
      : { host, path: url.slice(0, mark), query: url.slice(mark + 1) };
  }
  const absolute = url.startsWith("/") ? `http://${host}${url}` : url;
  if (!URL.canParse(absolute)) return malformed(malformedTarget);
  const { host: named, pathname, search } = new URL(absolute);
  if (absolute === url && named !== parseHost(host)?.host) {
    return malformed("The request has a URL and a Host header of different hosts.");
  }
  return { host, path: pathname, query: search.slice(1) };
}
