import type { IncomingMessage, ServerResponse } from "node:http";
import { replyProblem } from "../serve/exchange.ts";
import type { FetchServer } from "../serve/server.ts";
import { handleRequest, handleRequestOf, type NodeExchange } from "./node-exchange.ts";

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
}

/**
 * Converts a server to a handler for Express, Fastify and `node:http`. Mount it before parsers of bodies where possible:
 * a body that was parsed as JSON is converted to JSON again.
 * @example
 * app.use("/api", toNodeHandler(serveHTTP(registry, { authenticate })));
 */
export function toNodeHandler(
  server: Pick<FetchServer, "fetch" | "handle">,
  options: NodeHandlerOptions = {},
): NodeHandler {
  return (incoming: FrameworkRequest, outgoing) => {
    const { url, originalUrl = url, baseUrl } = incoming;
    const handle = (exchange: NodeExchange) => {
      exchange.basePath = (options.basePath ?? baseUrl) || undefined;
      if (restoreBody(exchange)) {
        return server.handle === undefined ? handleRequestOf(server, exchange) : server.handle(exchange);
      }
      const reason = "The body was read before the request reached toNodeHandler(). Mount it before parsers of bodies.";
      replyProblem(exchange, 500, reason);
    };
    handleRequest(incoming, outgoing, originalUrl, handle);
  };
}

/** Restores a body that a parser has read. Returns false if that is impossible. */
function restoreBody(exchange: NodeExchange): boolean {
  const { body, readableDidRead } = exchange.incoming as FrameworkRequest;
  if (!readableDidRead) return true;
  if (typeof body !== "object" || body === null) return false;
  exchange.body = body instanceof Buffer ? body : Buffer.from(JSON.stringify(body));
  return true;
}
