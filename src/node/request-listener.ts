import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { parseHost } from "../serve/cross-origin.ts";
import { handleSafely, RawHeaders, replyProblem } from "../serve/exchange.ts";
import type { FetchServer } from "../serve/server.ts";
import { NodeExchange, type NodeRequestOptions, type RequestTarget } from "./node-exchange.ts";

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
