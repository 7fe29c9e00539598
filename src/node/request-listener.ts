import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { handleSafely, replyProblem } from "../serve/exchange.ts";
import type { FetchServer } from "../serve/server.ts";
import { NodeExchange, type NodeRequestOptions } from "./node-exchange.ts";
import { type Refusal, type RequestTarget, readTarget } from "./request-target.ts";

/** Handles an exchange of Node's HTTP servers. */
export type HandleNodeExchange = (exchange: NodeExchange) => void | Promise<void>;

/** Maximum number of requests that wait for the responses to earlier ones of their connection. */
const maxWaiting = 100;

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
  runAfterResponses(incoming.socket, () => {
    const target = refuseMalformed(incoming, url);
    if (!("reason" in target)) {
      return void handleSafely(new NodeExchange(incoming, outgoing, target, options), handle);
    }
    outgoing.setHeader("connection", "close");
    const exchange = new NodeExchange(incoming, outgoing, { host: "localhost", path: "/", query: "" }, options);
    replyProblem(exchange, target.status, target.reason);
  });
  connectionOf(incoming.socket).last = outgoing;
}

/** Runs a function when all responses of a connection were written, unless it is closed before. */
export function runAfterResponses(socket: Socket, run: () => void): void {
  const connection = connectionOf(socket);
  if (connection.last === undefined || connection.last.closed) return run();
  connection.waiting += 1;
  if (connection.waiting > maxWaiting) socket.destroy();
  connection.last.once("close", () => {
    connection.waiting -= 1;
    if (!socket.destroyed) run();
  });
}

/** Reads where a request goes, or returns why it is refused, with all that follow on its connection. */
export function refuseMalformed(incoming: IncomingMessage, url = ""): RequestTarget | Refusal {
  const target = readTarget(incoming, url);
  const connection = connectionOf(incoming.socket);
  if (connection.isMalformed) return { status: 400, reason: "An earlier request of the connection is malformed." };
  connection.isMalformed = "reason" in target && target.status === 400;
  return target;
}

/** Lets a server handle an exchange, with or without a `Request` and a `Response`. */
export function handleWith(
  server: Pick<FetchServer, "fetch" | "handle">,
  exchange: NodeExchange,
): void | Promise<void> {
  if (server.handle !== undefined) return server.handle(exchange);
  return handleRequestOf(server, exchange);
}

async function handleRequestOf(server: Pick<FetchServer, "fetch">, exchange: NodeExchange): Promise<void> {
  const { basePath, remoteAddress, allowPublic } = exchange;
  exchange.send(await server.fetch(exchange.toRequest(), { basePath, remoteAddress, allowPublic }));
}
