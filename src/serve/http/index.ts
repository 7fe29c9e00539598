import type { OperationRegistry } from "../../registry/index.ts";
import type { FetchServer } from "../server.ts";
import { HTTPServer, type ServeHTTPOptions } from "./server.ts";

export type {
  Authenticator,
  AuthenticatorDescription,
  Credentials,
  IdentifyCaller,
  SecurityScheme,
} from "../authenticator.ts";
export type { Exchange } from "../exchange.ts";
export type { CloseOptions, CORSOptions, FetchInfo, FetchServer, ServeOptions } from "../server.ts";
export type { Heartbeat, RunStream } from "../stream-writer.ts";
export type { DocumentInfo } from "./document.ts";
export type { ServeHTTPOptions } from "./server.ts";

/**
 * Serves the operations of a registry over HTTP. Mutations are called with `POST /namespace/name` and a JSON body, queries
 * also with `GET` and query parameters, and subscriptions respond with server-sent events. Routes follow the changes of the
 * registry. The result handles requests; `listen` of `@alkdev/operations/node` opens a port for it.
 */
export function serveHTTP(registry: OperationRegistry, options: ServeHTTPOptions): FetchServer {
  return new HTTPServer(registry, options);
}
