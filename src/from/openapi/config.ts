import type { CircuitBreakerOptions, RetryOptions } from "../../middleware/index.ts";
import type { AccessControl, Limits, OutputPolicy } from "../../operation/index.ts";
import type { Secret, SourceReport } from "../source.ts";

export type { Secret } from "../source.ts";

/**
 * A credential of the operator. It is sent only to `baseUrl`, the origin of the document and `allowedOrigins`, and
 * never appears in errors, logs or `meta`. It is not removed from the `data` of a response, even if a service repeats
 * it there.
 */
export interface HTTPAuth {
  /** Type of the credential. */
  type: "bearer" | "apiKey" | "basic" | "oauth2";
  /** Token for `bearer` and `apiKey`. For `basic`, the encoded base64 string instead of `username` and `password`. */
  token?: Secret;
  /** User name for `basic`. */
  username?: Secret;
  /** Password for `basic`. */
  password?: Secret;
  /**
   * Header for `bearer` and `apiKey`. @default `Authorization`; for `apiKey` the header in the document, or `X-API-Key`
   */
  headerName?: string;
  /** Prefix of the token. @default `Bearer` for `bearer`, `Basic` for `basic`, no prefix for `apiKey` */
  prefix?: string;
  /** Location of an `apiKey`. @default the location in the document, or `header` */
  in?: "header" | "query" | "cookie";
  /** Name of the query parameter or cookie for an `apiKey`. */
  name?: string;
  /** Token endpoint for `oauth2` (client credentials). A `tokenUrl` in the document is never used. */
  tokenUrl?: string;
  /** Client id for `oauth2`. */
  clientId?: Secret;
  /** Client secret for `oauth2`. */
  clientSecret?: Secret;
  /** Scopes to request for `oauth2`. */
  scopes?: string[];
}

/** Options for resuming an interrupted event stream. */
export interface HTTPReconnect {
  /**
   * Maximum number of consecutive failed attempts before the subscription fails, 0 or more; `Infinity` for no limit. A
   * received event resets the count. @default 10
   */
  attempts?: number;
  /**
   * Delay before the first attempt, in ms, above 0. It doubles with each attempt and is reduced by up to half at
   * random. A `retry` value from the server replaces it and is never reduced; its minimum is 500 ms or this delay,
   * whichever is less. @default 1,000
   */
  delay?: number;
  /** Maximum delay, in ms, above 0. @default 30,000 */
  maxDelay?: number;
  /** Also reconnects if the server did not send event ids. Events may then be lost or repeated. @default false */
  allowGaps?: boolean;
}

/** How the next page of an operation is found. `items` and `cursor` are JSON pointers into the data. */
export type PaginationRule =
  /** Uses the `Link` header with `rel="next"` if it has the same origin. */
  | {
      /** How the next page is found. */
      kind: "link";
    }
  /** Passes the value at `cursor` as `parameter`. Ends when there is no value. */
  | {
      /** How the next page is found. */
      kind: "cursor";
      /** Name of the parameter. */
      parameter: string;
      /** JSON pointer to the cursor. */
      cursor: string;
    }
  /** Adds the number of items to `parameter`. Ends when a page is empty or has fewer items than `limitParameter`. */
  | {
      /** How the next page is found. */
      kind: "offset";
      /** Name of the parameter. */
      parameter: string;
      /** Name of the parameter that sets the number of items per page. */
      limitParameter?: string;
      /** JSON pointer to the items. @default the data */
      items?: string;
    }
  /** Adds one to `parameter`. Ends when a page is empty. */
  | {
      /** How the next page is found. */
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
  /** Tags in the document. At least one must match. */
  tags?: string[];
  /** Path templates of the document, such as `/repos/*`, optionally with a method: `GET /repos/*`. */
  paths?: string[];
}

/** External references that the operator allows. All other external references are refused. */
export interface ExternalReferences {
  /**
   * Allowed hosts, such as `schemas.example.com`, with the port if it is not the default. They must match exactly. Only
   * `https`, except for loopback.
   */
  hosts?: string[];
  /** Allowed files, as absolute paths or relative to the document. Resolved paths must match exactly. */
  files?: string[];
  /** Time limit for reading one external document, in ms, above 0. @default 10,000 */
  timeout?: number;
}

/** Configuration of an imported HTTP service. */
export interface HTTPServiceConfig {
  /** Namespace of the operations: 1 to 64 characters, no dot. */
  namespace: string;
  /**
   * Base URL of all requests. It replaces the servers of the document. @default the most specific `servers[0]` of the
   * document
   */
  baseUrl?: string;
  /** Headers of every request. A function is called for every request. They never override `auth`. */
  headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>);
  /**
   * Names of headers that callers outside this process may set by `metadata.http.headers`, such as `x-request-id`;
   * `content-type` allows `metadata.http.contentType`. Calls from this process may set any header that is not reserved.
   * @default none
   */
  remoteHeaders?: readonly string[];
  /**
   * One credential, a function that returns it for every call, or one credential per security scheme of the document.
   */
  auth?:
    | HTTPAuth
    | (() => HTTPAuth | undefined | Promise<HTTPAuth | undefined>)
    | {
        /** Credentials by name of the security scheme. */
        schemes: Record<string, HTTPAuth>;
      };
  /**
   * Time limit of a call, in ms, above 0. For streams it ends when the response headers arrive. `Infinity` for no
   * limit. @default no limit
   */
  timeout?: number;
  /** Sends the requests. @default the global `fetch` */
  fetch?: typeof fetch;
  /**
   * Repeats failed calls that did not run, or that are safe or idempotent; `true` uses the defaults. Works like the
   * `retry` middleware, for each attempt to send a request. @default false
   */
  retry?: boolean | RetryOptions;
  /**
   * Refuses calls while an origin of the service keeps failing; `true` uses the defaults. Works like the
   * `circuitBreaker` middleware, counted per origin. @default false
   */
  breaker?: boolean | CircuitBreakerOptions;
  /**
   * Maximum number of concurrent requests to this service, at least 1. Further requests wait. `Infinity` for no limit.
   * @default no limit
   */
  concurrency?: number;
  /**
   * Maximum time between two events of a stream, in ms, before the subscription fails with `TIMEOUT`. `Infinity` for no
   * limit. @default no limit
   */
  idleTimeout?: number;
  /** Whether interrupted event streams are resumed with `Last-Event-ID`; `true` uses the defaults. @default false */
  reconnect?: boolean | HTTPReconnect;
  /** Limits for documents, schemas, responses and events. */
  limits?: Limits;
  /** Pagination: one rule for all operations, or rules by operation name. `false` disables it. @default inferred */
  pagination?:
    | false
    | PaginationRule
    | {
        /** Rules by name of the operation. */
        operations: Record<string, PaginationRule>;
      };

  /** Imports only these operations: one list of ids, names, tags and paths, or separate lists. @default all */
  include?: string[] | OperationFilter;
  /** Excludes these operations, even if `include` selects them. */
  exclude?: string[] | OperationFilter;
  /** Maps the name of an operation to a new one; `undefined` keeps it. */
  rename?: Record<string, string> | ((name: string, entry: { method: string; path: string }) => string | undefined);
  /** Values of the variables in `servers`. @default the document's defaults */
  serverVariables?: Record<string, string>;
  /** Further origins that may receive requests and credentials, such as `https://upload.example.com`. */
  allowedOrigins?: string[];
  /** URL of the document. Relative server URLs and references are resolved against it. `FromOpenAPIUrl` sets it. */
  documentUrl?: string;
  /** External references that may be read. @default none */
  externalRefs?: ExternalReferences;
  /** Policy for responses that do not match their schema. @default the policy of the registry */
  outputPolicy?: OutputPolicy;
  /** Access rule of all operations. @default `{ requiredScopes: [] }`, which allows every caller */
  accessControl?: AccessControl;
  /**
   * Receives a report of imported and skipped operations. @default each skipped item is logged as a warning, on the
   * console until LogTape is configured
   */
  onReport?: (report: SourceReport) => void;
}
