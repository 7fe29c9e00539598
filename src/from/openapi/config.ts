import type { CircuitBreakerOptions, RetryOptions } from "../../middleware/index.ts";
import type { AccessControl, Limits, OutputPolicy } from "../../operation/index.ts";
import type { Secret, SourceReport } from "../source.ts";

export type { Secret } from "../source.ts";

/**
 * A credential of the operator. Goes to `baseUrl`, the origin that the document came from and `allowedOrigins` only, and
 * never into errors, logs or `meta`. The `data` of a response is not rewritten, also where a service repeats it there.
 */
export interface HTTPAuth {
  /** Which credentials are sent, and how. */
  type: "bearer" | "apiKey" | "basic" | "oauth2";
  /** Of `bearer` and `apiKey`; of `basic` the ready base64 string instead of `username` and `password`. */
  token?: Secret;
  /** For `basic`. */
  username?: Secret;
  /** For `basic`. */
  password?: Secret;
  /** Header of `bearer` and `apiKey`. @default `Authorization`, for `apiKey` that of the document, else `X-API-Key` */
  headerName?: string;
  /** Written before the token. @default `Bearer` for `bearer`, `Basic` for `basic`, nothing for `apiKey` */
  prefix?: string;
  /** Where an `apiKey` goes. @default that of the document, else `header` */
  in?: "header" | "query" | "cookie";
  /** Name of the query parameter or cookie of an `apiKey`. */
  name?: string;
  /** Of `oauth2` (client credentials). A `tokenUrl` in the document is never used. */
  tokenUrl?: string;
  /** For `oauth2`: id of this client. */
  clientId?: Secret;
  /** For `oauth2`: secret of this client. */
  clientSecret?: Secret;
  /** For `oauth2`: scopes to request. */
  scopes?: string[];
}

/** How an interrupted event stream is resumed. */
export interface HTTPReconnect {
  /**
   * Attempts in a row that may fail before the subscription does, 0 or more; `Infinity` for no limit. A received event
   * resets the count. @default 10
   */
  attempts?: number;
  /**
   * Delay before the first attempt, in ms, above 0. It doubles with each attempt and is reduced by up to half at random. The
   * server's `retry` replaces it and is never reduced, but not below 500 ms or this, whichever is less. @default 1,000
   */
  delay?: number;
  /** Maximum delay, in ms, above 0. @default 30,000 */
  maxDelay?: number;
  /** Also reconnects when the server sent no event id, so that events may be lost or repeated. @default false */
  allowGaps?: boolean;
}

/** How the next page of an operation is found. `items` and `cursor` are JSON pointers into the data. */
export type PaginationRule =
  /** By the `Link` header with `rel="next"`, to the same origin. */
  | { kind: "link" }
  /** The value at `cursor` goes into `parameter`; none ends the pages. */
  | {
      kind: "cursor";
      /** Name of the parameter. */
      parameter: string;
      /** JSON pointer to the cursor. */
      cursor: string;
    }
  /** Adds the number of items to `parameter`; fewer than `limitParameter`, or none, ends the pages. */
  | {
      kind: "offset";
      /** Name of the parameter. */
      parameter: string;
      /** Name of the parameter with the number of items of a page. */
      limitParameter?: string;
      /** JSON pointer to the items. @default the data */
      items?: string;
    }
  /** Adds one to `parameter`; no items end the pages. */
  | {
      kind: "page";
      /** Name of the parameter. */
      parameter: string;
      /** JSON pointer to the items. @default the data */
      items?: string;
    };

/** Selects operations by id, name, tag or path. `*` matches any characters. */
export interface OperationFilter {
  /** Names of operations, with or without the namespace. */
  ids?: string[];
  /** Tags of the document; one of them must match. */
  tags?: string[];
  /** Path templates as the document has them, such as `/repos/*`, optionally with a method: `GET /repos/*`. */
  paths?: string[];
}

/** References out of the document that an operator allows. Everything else outside is refused. */
export interface ExternalReferences {
  /** Hosts, with the port where it is not the default, such as `schemas.example.com`. Compared whole; `https` only, except for loopback. */
  hosts?: string[];
  /** Files, as absolute paths or relative to the document. Compared whole after resolving. */
  files?: string[];
  /** Maximum duration of reading one of them, in ms, above 0. @default 10,000 */
  timeout?: number;
}

/** How an HTTP service is imported and called. */
export interface HTTPServiceConfig {
  /** Namespace of the operations: 1 to 64 characters, no dot. */
  namespace: string;
  /** Where requests go. Replaces the servers of the document. @default the most specific `servers[0]` of the document */
  baseUrl?: string;
  /** Sent with every request; a function is called for every request. Never overrides `auth`. */
  headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>);
  /**
   * Names of headers that callers outside this process may set by `metadata.http.headers`, such as `x-request-id`;
   * `content-type` allows `metadata.http.contentType`. Calls of this process may set any that is not reserved.
   * @default none
   */
  remoteHeaders?: readonly string[];
  /** One credential, a function that returns it for every call, or one per security scheme of the document. */
  auth?:
    | HTTPAuth
    | (() => HTTPAuth | undefined | Promise<HTTPAuth | undefined>)
    | { schemes: Record<string, HTTPAuth> };
  /** For the whole call, in ms, above 0; for streams up to the response headers. `Infinity` for no limit. @default no limit */
  timeout?: number;
  /** Sends the requests. @default the global `fetch` */
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
  /** Maximum silence of a stream, in ms, before the subscription fails with `TIMEOUT`. `Infinity` for no limit. @default no limit */
  idleTimeout?: number;
  /** Whether interrupted event streams are resumed with `Last-Event-ID`; `true` uses the defaults. @default false */
  reconnect?: boolean | HTTPReconnect;
  /** Bounds on documents, schemas, responses and events. */
  limits?: Limits;
  /** How pages are found: one rule for all or by operation name; `false` switches inference off. @default inferred */
  pagination?: false | PaginationRule | { operations: Record<string, PaginationRule> };

  /** Imports only these operations: one list of ids, names, tags and paths, or separate lists. @default all */
  include?: string[] | OperationFilter;
  /** Excludes these, also where `include` selects them. */
  exclude?: string[] | OperationFilter;
  /** Maps the name of an operation to a new one; `undefined` keeps it. */
  rename?: Record<string, string> | ((name: string, entry: { method: string; path: string }) => string | undefined);
  /** Values for variables in `servers`. @default the document's defaults */
  serverVariables?: Record<string, string>;
  /** Origins besides the base URL's that may receive requests and credentials, such as `https://upload.example.com`. */
  allowedOrigins?: string[];
  /** Where the document came from; relative server URLs and references resolve against it. `FromOpenAPIUrl` sets it. */
  documentUrl?: string;
  /** References out of the document that may be read. @default none */
  externalRefs?: ExternalReferences;
  /** What happens to responses that do not match their schema. @default the registry's */
  outputPolicy?: OutputPolicy;
  /** What callers of these operations must be allowed to do. @default `{ requiredScopes: [] }` */
  accessControl?: AccessControl;
  /** Receives what was imported and skipped. @default one warning each in the log, and on the console until LogTape is configured */
  onReport?: (report: SourceReport) => void;
}
