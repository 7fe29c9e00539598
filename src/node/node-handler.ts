import type { IncomingMessage, ServerResponse } from "node:http";
import type { FetchServer } from "../serve/server.ts";
import { IncomingInfo, toProblem, toRequestListener } from "./request-listener.ts";

/** Options of {@link toNodeHandler}. */
export interface NodeHandlerOptions {
  /** The path at which the handler is mounted, such as `/api`. @default the path of Express's `app.use()`, else the root */
  basePath?: string | undefined;
}

/** A handler of requests of `node:http` and of what is built on it. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** A request that frameworks have changed. */
interface FrameworkRequest extends IncomingMessage {
  /** The whole path and query. Express removes the path of `app.use()` from `url`. */
  originalUrl?: string;
  /** The path of `app.use()`. */
  baseUrl?: string;
  /** The body, if a body parser has read it. */
  body?: unknown;
  /** The bytes of the body. The request listener reads them instead of the stream. */
  rawBody?: unknown;
}

/**
 * Converts a server to a handler for Express, Fastify and `node:http`. Mount it before parsers of bodies where possible:
 * a body that was parsed as JSON is converted to JSON again.
 * @example
 * app.use("/api", toNodeHandler(serveHTTP(registry, { authenticate })));
 */
export function toNodeHandler(server: Pick<FetchServer, "fetch">, options: NodeHandlerOptions = {}): NodeHandler {
  const listener = toRequestListener((request, incoming: FrameworkRequest, outgoing) => {
    const basePath = options.basePath ?? (incoming.baseUrl || undefined);
    return (
      restoreBody(incoming) ?? server.fetch(request, new IncomingInfo(request, incoming, outgoing).mountAt(basePath))
    );
  });
  return (incoming: FrameworkRequest, outgoing) => {
    const { url, originalUrl } = incoming;
    if (originalUrl === undefined) return listener(incoming, outgoing);
    incoming.url = originalUrl; // The listener reads it before it returns.
    listener(incoming, outgoing);
    incoming.url = url;
  };
}

/** Restores a body that a parser has read. Returns a response if that is impossible. */
function restoreBody(incoming: FrameworkRequest): Response | undefined {
  const { body, rawBody, readableDidRead } = incoming;
  if (!readableDidRead || rawBody instanceof Buffer) return undefined;
  if (typeof body !== "object" || body === null) {
    const detail = "The body was read before the request reached toNodeHandler(). Mount it before parsers of bodies.";
    return toProblem(500, detail);
  }
  incoming.rawBody = body instanceof Buffer ? body : Buffer.from(JSON.stringify(body));
  return undefined;
}
