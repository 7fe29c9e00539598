import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { getRequestListener, type HttpBindings, RequestError } from "@hono/node-server";
import { logger } from "../internal/log.ts";
import type { FetchInfo } from "../serve/server.ts";

const log = logger("node");

/** Maximum number of headers of a request. More are refused with 431: Node would ignore those after the 2,000th. */
const maxHeaders = 200;

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
 * What a server learns about a request of Node. Its headers and its body are read without the classes of the web, which
 * would be a large part of the cost of a call.
 */
export class IncomingInfo implements FetchInfo {
  // Assigned in the constructor instead of defined as class fields, because that is faster and there is one for each call.
  declare basePath: string | undefined;
  declare readonly allowPublic: boolean | undefined;
  declare private readonly request: Request;
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

  /** Returns a header, as `Headers` does: names are case-insensitive, and repeated headers are joined. */
  get(wanted: string): string | null {
    const name = wanted.toLowerCase();
    const { rawHeaders } = this.incoming; // Of some repeated headers, `headers` has only the first.
    let found: string | null = null;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const sent = rawHeaders[index]!;
      if (sent.length !== name.length || (sent !== name && sent.toLowerCase() !== name)) continue;
      const value = rawHeaders[index + 1]!.trim();
      found = found === null ? value : found + (name === "cookie" ? "; " : ", ") + value;
    }
    return found;
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  readText(): Promise<string> {
    const { incoming, request } = this;
    // The body was read before, or the client has disconnected.
    if (incoming.readableDidRead || incoming.destroyed) return request.text();
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () => resolve(decode(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))));
      incoming.on("error", reject);
    });
  }

  onClose(listener: () => void): void {
    if (this.outgoing.closed) listener();
    else this.outgoing.on("close", listener);
  }
}

/** Decodes UTF-8 like `Request.text()`, which drops a byte order mark. */
function decode(bytes: Buffer): string {
  const text = bytes.toString();
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

/** Creates a listener from a function. Malformed requests never reach the function, and its errors are status 500. */
export function toRequestListener(fetch: NodeFetch): NodeRequestListener {
  return getRequestListener(
    (request, bindings) => {
      const { incoming, outgoing } = bindings as HttpBindings;
      return refuseMalformed(incoming) ?? fetch(request, incoming, outgoing);
    },
    { overrideGlobalObjects: false, errorHandler: toErrorResponse },
  );
}

/** Refuses what a proxy in front of this server may have understood differently (RFC 9112, section 3.2). */
function refuseMalformed(incoming: IncomingMessage): Response | undefined {
  const { url = "", rawHeaders } = incoming; // Not `headers`: Node creates that object when it is read.
  if (rawHeaders.length > 2 * maxHeaders) return toProblem(431, `The request has more than ${maxHeaders} headers.`);
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === "host") hosts += 1;
  }
  if (hosts > 1) return toProblem(400, "The request has more than one Host header.");
  if (!url.startsWith("/") && new URL(url).host !== incoming.headers.host?.toLowerCase()) {
    return toProblem(400, "The request has a URL and a Host header of different hosts.");
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
