import type { CircuitBreakerOptions, RetryOptions } from "../../middleware/index.ts";
import type { AccessControl, Limits, OutputPolicy } from "../../operation/index.ts";
import type { Secret, SourceReport } from "../source.ts";

export type { Secret } from "../source.ts";

/**
 * A credential of the operator. Goes to `baseUrl`, the origin that the document came from and `allowedOrigins` only, and
 * never into errors, logs or `meta`. The `data` of a response is not rewritten, also where a service repeats it there.
 */
export interface HTTPAuth {
  type: "bearer" | "apiKey" | "basic" | "oauth2";
  /** Of `bearer` and `apiKey`; of `basic` the ready base64 text in the place of `username` and `password`. */
  token?: Secret;
  username?: Secret;
  password?: Secret;
  /** Header of `bearer` and `apiKey`. @default `Authorization`, for `apiKey` what the document says, else `X-API-Key` */
  headerName?: string;
  /** Written before the token. @default `Bearer` for `bearer`, `Basic` for `basic`, nothing for `apiKey` */
  prefix?: string;
  /** Where an `apiKey` goes. @default what the document says, else `header` */
  in?: "header" | "query" | "cookie";
  /** Name of the query parameter or cookie of an `apiKey`. */
  name?: string;
  /** Of `oauth2` (client credentials). A `tokenUrl` in the document is never used. */
  tokenUrl?: string;
  clientId?: Secret;
  clientSecret?: Secret;
  scopes?: string[];
}

/** How a dropped event stream is taken up again. */
export interface HTTPReconnect {
  /**
   * Tries in a row that may fail before the subscription does, 0 or more; `Infinity` tries until the consumer leaves. A
   * received event starts the count again. @default 10
   */
  attempts?: number;
  /**
   * Wait before the first try, in ms, above 0; doubles with each. The server's `retry` takes its place, but not below
   * 500 ms or this, whichever is less. @default 1,000
   */
  delay?: number;
  /** Longest wait, in ms, above 0. @default 30,000 */
  maxDelay?: number;
  /** Also reconnects when the server sent no event id, so that events may be missed or come twice. @default false */
  allowGaps?: boolean;
}

/** How the next page of an operation is found. `items` and `cursor` are JSON pointers into the data. */
export type PaginationRule =
  /** By the `Link` header with `rel="next"`, to the same origin. */
  | { kind: "link" }
  /** The value at `cursor` goes into `parameter`; none ends the pages. */
  | { kind: "cursor"; parameter: string; cursor: string }
  /** Adds the number of items to `parameter`; fewer than `limitParameter` asked for, or none, ends the pages. */
  | { kind: "offset"; parameter: string; limitParameter?: string; items?: string }
  /** Adds one to `parameter`; no items end the pages. */
  | { kind: "page"; parameter: string; items?: string };

/** Which operations an import takes: by id, name, tag or path. `*` stands for any run of characters. */
export interface OperationFilter {
  /** Names of operations, with or without the namespace. */
  ids?: string[];
  tags?: string[];
  /** Path templates as the document has them, such as `/repos/*`; a method may stand before: `GET /repos/*`. */
  paths?: string[];
}

/** References out of the document that an operator allows. Everything else outside is refused. */
export interface ExternalReferences {
  /** Hosts, with the port where it is not the default, such as `schemas.example.com`. Compared whole; `https` only, except for loopback. */
  hosts?: string[];
  /** Files, as absolute paths or relative to the document. Compared whole after resolving. */
  files?: string[];
  /** Longest time for one of them, in ms, above 0. @default 10,000 */
  timeout?: number;
}

/** How an HTTP service is imported and called. */
export interface HTTPServiceConfig {
  /** Namespace of the operations: 1 to 64 characters, no dot. */
  namespace: string;
  /** Where requests go, also against what the document says. @default the most specific `servers[0]` of the document */
  baseUrl?: string;
  /** Sent with every request; as a function asked at every call. Never override `auth`. */
  headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>);
  /**
   * Names of headers that callers outside this process may set by `metadata.http.headers`, such as `x-request-id`;
   * `content-type` lets them choose `metadata.http.contentType`. Calls of this process may set any that is not reserved.
   * @default none
   */
  remoteHeaders?: readonly string[];
  /** One credential, a function that gives it at every call, or one per security scheme of the document. */
  auth?:
    | HTTPAuth
    | (() => HTTPAuth | undefined | Promise<HTTPAuth | undefined>)
    | { schemes: Record<string, HTTPAuth> };
  /** For the whole call, in ms, above 0; for streams up to the response headers. `Infinity` for no limit. @default no limit */
  timeout?: number;
  /** @default the global `fetch` */
  fetch?: typeof fetch;
  /**
   * Repeats failed calls that did not run, or that are safe or idempotent; `true` uses the defaults. The same as the
   * middleware `retry`, for each attempt to send a request. @default false
   */
  retry?: boolean | RetryOptions;
  /**
   * Refuses calls while an origin of the service keeps failing; `true` uses the defaults. The same as the middleware
   * `circuitBreaker`, counted per origin. @default false
   */
  breaker?: boolean | CircuitBreakerOptions;
  /** Maximum number of requests to this service at the same time, at least 1; further ones wait. `Infinity` for no limit. @default no limit */
  concurrency?: number;
  /** Longest silence of a stream, in ms, before the subscription fails with `TIMEOUT`. `Infinity` for no limit. @default no limit */
  idleTimeout?: number;
  /** Whether dropped event streams are taken up again with `Last-Event-ID`; `true` takes the defaults. @default false */
  reconnect?: boolean | HTTPReconnect;
  /** Bounds on documents, schemas, responses and events. */
  limits?: Limits;
  /** How pages are found: one rule for all or by operation name; `false` switches inference off. @default inferred */
  pagination?: false | PaginationRule | { operations: Record<string, PaginationRule> };

  /** Takes only these operations: ids, names, tags or paths as text with `*`, or told apart. @default all */
  include?: string[] | OperationFilter;
  /** Leaves these out, also where `include` takes them. */
  exclude?: string[] | OperationFilter;
  /** From the name an operation would have to the one it gets; `undefined` keeps it. */
  rename?: Record<string, string> | ((name: string, entry: { method: string; path: string }) => string | undefined);
  /** Values for variables in `servers`. @default the document's defaults */
  serverVariables?: Record<string, string>;
  /** Origins besides the base URL's that may get requests and credentials, such as `https://upload.example.com`. */
  allowedOrigins?: string[];
  /** Where the document came from; relative server URLs and references resolve against it. `FromOpenAPIUrl` sets it. */
  documentUrl?: string;
  /** References out of the document that may be read. @default none */
  externalRefs?: ExternalReferences;
  /** What is done with answers that do not fit. @default the registry's */
  outputPolicy?: OutputPolicy;
  /** What callers of these operations must be allowed to do. @default `{ requiredScopes: [] }` */
  accessControl?: AccessControl;
  /** Hears what was imported and left out. @default one warning each in the log */
  onReport?: (report: SourceReport) => void;
}
