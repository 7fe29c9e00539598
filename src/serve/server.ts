import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Limits } from "../operation/index.ts";
import type { OperationSelection } from "../registry/index.ts";
import type { Authenticator, IdentifyCaller } from "./authenticator.ts";

/** What the host of a server knows about a request. */
export interface FetchInfo {
  /** The path at which the server is mounted, such as `/api`. @default the root */
  basePath?: string | undefined;
  /** Address of the client. */
  remoteAddress?: string | undefined;
  /** Whether the operator allowed public access without authentication, with `allowPublic` of `listen`. @default false */
  allowPublic?: boolean | undefined;
  /**
   * A class of responses that the host writes faster than those of the global class, if the body is a string or bytes
   * and the headers are an object. Create responses with it where that matters. @default the global `Response`
   */
  Response?: typeof Response | undefined;
  /** Reads headers of the request, in the same manner as `request.headers` and faster. @default `request.headers` */
  headers?: Pick<Headers, "get" | "has"> | undefined;
  /** Reads the body of the request, whose length is known, faster than `request.text()`. @default `request.text()` */
  readText?: (() => Promise<string>) | undefined;
  /** Calls a function when the connection is closed or the response is sent, for less than `request.signal` costs. */
  onClose?: ((listener: () => void) => void) | undefined;
}

/** Options of `close()` of a server. */
export interface CloseOptions {
  /** Time in ms for running calls to end; 0 ends them immediately. @default 10,000 */
  timeout?: number | undefined;
}

/** A server without a listener: it handles requests of Node, Hono, Next, Deno and Bun. */
export interface FetchServer extends AsyncDisposable {
  /** Handles a request. Never rejects. A bound function, so that it can be passed on. */
  readonly fetch: (request: Request, info?: FetchInfo) => Response | Promise<Response>;
  /** Handles a request to `/.well-known/` at the root of the listener; `undefined` when the server does not know it. */
  readonly wellKnown?: (request: Request, info?: FetchInfo) => Response | undefined | Promise<Response | undefined>;
  /** Whether it answers requests without authentication, so that `listen` accepts only addresses of this machine. */
  readonly isUnauthenticated: boolean;
  /** Lets running calls finish, ends subscriptions with `UNAVAILABLE`, and refuses new requests with 503. */
  close(options?: CloseOptions): Promise<void>;
}

/** A server of connections such as WebSockets, which start with an `upgrade` event of Node's HTTP servers. */
export interface UpgradeHandler extends AsyncDisposable {
  /** Handles an `upgrade` event: accepts or refuses the connection. A bound function, so that it can be passed on. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer, info?: FetchInfo) => void;
  /** Whether it accepts connections without authentication, so that `listen` accepts only addresses of this machine. */
  readonly isUnauthenticated: boolean;
  /** Lets running calls finish, ends subscriptions with `UNAVAILABLE`, and closes the connections. */
  close(options?: CloseOptions): Promise<void>;
}

/** Which web pages of other origins may send requests. */
export interface CORSOptions {
  /** Origins as browsers send them, such as `https://app.example.com`. */
  origins: readonly string[];
  /** Seconds for which a browser may remember the permission. @default 600 */
  maxAge?: number;
}

/** Options that all servers share. */
export interface ServeOptions extends OperationSelection {
  /**
   * Identifies callers. `"none"` serves callers without an identity: only requests to a loopback `Host` are answered,
   * unless `allowPublic` is set.
   */
  authenticate: Authenticator | IdentifyCaller | "none";
  /** With `authenticate: "none"`: answers requests to any host. @default false */
  allowPublic?: boolean | undefined;
  /** Which web pages of other origins may send requests. @default none */
  cors?: CORSOptions | undefined;
  /** Reads the client's address and the public URL from `X-Forwarded-*`. Set it only behind a proxy. @default false */
  trustProxy?: boolean | undefined;
  /** Sends the messages of unexpected errors to callers. For development. @default false */
  exposeErrors?: boolean | undefined;
  /** Time limit of calls that arrive without one, in ms; `Infinity` for no limit. @default 30,000 */
  defaultTimeout?: number | undefined;
  /** Maximum time limit that a caller can request, in ms; `Infinity` for no limit. @default one hour */
  maxTimeout?: number | undefined;
  /** Limits on requests and running calls. */
  limits?: Limits | undefined;
}
