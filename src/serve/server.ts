import type { StopOptions } from "../call/index.ts";
import type { Limits } from "../operation/index.ts";
import type { OperationRegistry, OperationSelection } from "../registry/index.ts";
import type { Authenticator, IdentifyCaller } from "./authenticator.ts";
import type { Exchange } from "./exchange.ts";

/** What the host of a server knows about a request. */
export interface FetchInfo {
  /** The path at which the server is mounted, such as `/api`. @default the root */
  basePath?: string | undefined;
  /** Address of the client. */
  remoteAddress?: string | undefined;
  /** Whether the operator allowed public access without authentication, with `allowPublic` of `listen`. @default false */
  allowPublic?: boolean | undefined;
}

/** Options of `close()` of a server. */
export type CloseOptions = StopOptions;

/** A server of a registry, without a listener. */
export interface RegistryServer extends AsyncDisposable {
  /** Whether it serves callers without authentication, so that `listen` accepts only addresses of this machine. */
  readonly isUnauthenticated: boolean;
  /** The registry, which `listen` closes with the server after a signal. @default none */
  readonly registry?: Pick<OperationRegistry, "close"> | undefined;
  /**
   * Rejects if the server can never serve anyone, because a package is missing or its authenticator is not configured
   * correctly. `listen` waits for it and rejects with the same error.
   */
  ready?(): Promise<void>;
  /** Lets running calls finish, ends subscriptions with `UNAVAILABLE`, and refuses new requests with 503. */
  close(options?: CloseOptions): Promise<void>;
}

/** A server that handles requests of Node, Hono, Next, Deno and Bun. */
export interface FetchServer extends RegistryServer {
  /** Handles a request. Never rejects. A bound function, so that it can be passed on. */
  readonly fetch: (request: Request, info?: FetchInfo) => Response | Promise<Response>;
  /**
   * Handles an exchange of a host that does not need a `Request` and a `Response`, such as `listen`. A method of the
   * prototype: a copy of a server with another `fetch`, `{ ...server, fetch }`, does not have it.
   * @default `fetch` handles its request
   */
  handle?(exchange: Exchange): void | Promise<void>;
  /** Handles a request to `/.well-known/` at the root of the listener; `undefined` when the server does not know it. */
  readonly wellKnown?: (request: Request, info?: FetchInfo) => Response | undefined | Promise<Response | undefined>;
}

/** Which web pages of other origins may send requests. */
export interface CORSOptions {
  /** Origins as browsers send them, such as `https://app.example.com`. */
  origins: readonly string[];
}

/** Options that all servers share. */
export interface ServeOptions extends OperationSelection {
  /**
   * Identifies callers. `"none"` serves callers without an identity: only requests to a loopback `Host` are answered,
   * unless `listen` allows others with `allowPublic`.
   */
  authenticate: Authenticator | IdentifyCaller | "none";
  /**
   * Serves callers without credentials, who may then call the operations that require no rights. Otherwise every request
   * without credentials is refused with 401. @default only with `authenticate: "none"`
   */
  allowAnonymous?: boolean | undefined;
  /** Which web pages of other origins may send requests. @default none */
  cors?: CORSOptions | undefined;
  /** Reads the client's address and the public URL from `X-Forwarded-*`. Set it only behind a proxy. @default false */
  trustProxy?: boolean | undefined;
  /** Sends the messages of unexpected errors to callers. For development. @default false */
  exposeErrors?: boolean | undefined;
  /** Time limit of calls that arrive without one, in ms; `Infinity` for no limit. @default 30,000 */
  defaultTimeout?: number | undefined;
  /**
   * Maximum time limit of a call, in ms; `Infinity` for no limit. It also limits calls that request no limit.
   * @default one hour, or `defaultTimeout` if that is longer
   */
  maxTimeout?: number | undefined;
  /** Limits on requests and running calls. */
  limits?: Limits | undefined;
}
