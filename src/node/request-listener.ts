import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { getRequestListener, type HttpBindings, RequestError } from "@hono/node-server";
import { logger } from "../internal/log.ts";
import { readRawHeader } from "../serve/headers.ts";
import type { FetchInfo } from "../serve/server.ts";

const log = logger("node");

/** Maximum number of headers of a request. More are refused with 431: Node would ignore those after the 2,000th. */
const maxHeaders = 200;
/** Maximum number of requests that wait for the responses to earlier ones of their connection. More are refused with 429. */
const maxWaiting = 100;

/** Handles a request of Node's HTTP servers. */
export type NodeFetch = (
  request: Request,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
) => Response | Promise<Response>;

/** A listener of `request` events of Node's HTTP servers. */
export type NodeRequestListener = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/**
 * Hono's `Response`, which is written to a socket without the streams of the global class. Its module only makes it
 * available as a replacement of the global class, so that the global classes are replaced and restored in one
 * synchronous step. With a version that replaces nothing, this is the global class.
 */
export const FastResponse = findFastResponse();

function findFastResponse(): typeof Response {
  const { Request: request, Response: response } = globalThis;
  getRequestListener(() => new Response());
  const { Response: fast } = globalThis;
  Object.defineProperty(globalThis, "Request", { value: request });
  Object.defineProperty(globalThis, "Response", { value: response });
  return fast;
}

/**
 * Information about a request of Node for a server. Its headers and its body are read without the classes of the web, which
 * would be a large part of the cost of a call.
 */
export class IncomingInfo implements FetchInfo {
  // Assigned in the constructor instead of defined as class fields, because that is faster and there is one for each call.
  /** The request that it describes. */
  declare readonly request: Request;
  declare basePath: string | undefined;
  declare readonly allowPublic: boolean | undefined;
  declare private readonly incoming: IncomingMessage;
  declare private readonly outgoing: ServerResponse;

  constructor(request: Request, incoming: IncomingMessage, outgoing: ServerResponse, allowPublic?: boolean) {
    this.basePath = undefined;
    this.allowPublic = allowPublic;
    this.request = request;
    this.incoming = incoming;
    this.outgoing = outgoing;
  }

  /** Sets the path at which the server that handles the request is mounted. */
  mountAt(path: string | undefined): this {
    this.basePath = path || undefined;
    return this;
  }

  get remoteAddress(): string | undefined {
    return this.incoming.socket.remoteAddress;
  }

  get Response(): typeof Response {
    return FastResponse;
  }

  get headers(): Pick<Headers, "get" | "has"> {
    return this;
  }

  get(name: string): string | null {
    return readRawHeader(this.incoming.rawHeaders, name);
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  readBytes(): Promise<Uint8Array> {
    const { incoming, request } = this;
    // The body was read before, or the client has disconnected.
    if (incoming.readableDidRead || incoming.destroyed)
      return request.arrayBuffer().then((bytes) => new Uint8Array(bytes));
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
      incoming.on("error", reject);
    });
  }

  onClose(listener: () => void): void {
    if (this.outgoing.destroyed) listener();
    else this.outgoing.on("close", listener);
  }
}

/** Creates a listener from a function. Malformed requests never reach the function, and its errors are status 500. */
export function toRequestListener(fetch: NodeFetch): NodeRequestListener {
  return getRequestListener(
    (request, bindings) => {
      const { incoming, outgoing } = bindings as HttpBindings;
      if (outgoing.socket === null && addWaiting(incoming.socket, outgoing) > maxWaiting) return tooManyWaiting();
      return refuseMalformed(incoming, outgoing) ?? fetch(request, incoming, outgoing);
    },
    { overrideGlobalObjects: false, errorHandler: toErrorResponse },
  );
}

/** Responses that wait for earlier ones of their connection. */
const waiting = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * Adds a response that waits, and returns their number. It closes with its connection, whose end Node reports only to the
 * response that it is sending.
 */
function addWaiting(socket: Socket, outgoing: ServerResponse): number {
  const responses = waiting.get(socket) ?? new Set();
  if (!waiting.has(socket)) {
    waiting.set(socket, responses);
    socket.once("close", () => {
      for (const response of responses) response.destroy().emit("close");
    });
  }
  responses.add(outgoing);
  outgoing.once("close", () => responses.delete(outgoing));
  return responses.size;
}

function tooManyWaiting(): Response {
  const detail = `More than ${maxWaiting} requests of the connection wait for a response. Read the responses first.`;
  return toProblem(429, detail, { "retry-after": "1" });
}

/** Connections with a malformed request. What follows it may be a part of its body. */
const malformed = new WeakSet<Socket>();

/** Refuses what a proxy in front of this server may have understood differently, and all that follows on the connection. */
function refuseMalformed(incoming: IncomingMessage, outgoing: ServerResponse): Response | undefined {
  const { rawHeaders, socket } = incoming;
  if (rawHeaders.length > 2 * maxHeaders) return toProblem(431, `The request has more than ${maxHeaders} headers.`);
  const isLater = malformed.has(socket);
  const problem = isLater ? "An earlier request of the connection is malformed." : findProblem(incoming);
  if (problem === undefined) return undefined;
  malformed.add(socket);
  outgoing.setHeader("connection", "close");
  return toProblem(400, problem);
}

/** Returns what is malformed in a request (RFC 9112, sections 3.2 and 6.1). */
function findProblem(incoming: IncomingMessage): string | undefined {
  const { url = "", rawHeaders, httpVersion } = incoming; // Not `headers`: Node creates that object when it is read.
  if (readRawHeader(rawHeaders, "host")?.includes(",")) return "The request has more than one Host header.";
  const encoding = readRawHeader(rawHeaders, "transfer-encoding");
  if (encoding !== null && (encoding.toLowerCase() !== "chunked" || httpVersion === "1.0")) {
    return "The request has a Transfer-Encoding that is not supported. Use chunked, with HTTP/1.1.";
  }
  if (!url.startsWith("/") && new URL(url).host !== incoming.headers.host?.toLowerCase()) {
    return "The request has a URL and a Host header of different hosts.";
  }
  return undefined;
}

function toErrorResponse(error: unknown): Response {
  if (error instanceof RequestError) return toProblem(400, "The URL or the Host header of the request is malformed.");
  log.error("node: a server failed to handle a request: {error}", { error });
  return toProblem(500, "The server failed to handle the request.");
}

/** A response with problem details (RFC 9457). */
export function toProblem(status: number, detail: string, headers: Record<string, string> = {}): Response {
  const title = STATUS_CODES[status] ?? "Error";
  return new FastResponse(JSON.stringify({ title, status, detail }), {
    status,
    headers: { "content-type": "application/problem+json", ...fixedHeaders, ...headers },
  });
}

/** Headers of every response that the listener itself creates. */
export const fixedHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;
