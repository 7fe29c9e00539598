import type { AuthProvider, OAuthClientProvider, Transport } from "@modelcontextprotocol/client";
import type { AccessControl, Limits, OutputPolicy } from "../../operation/index.ts";
import type { Secret, SourceReport } from "../source.ts";

/** Generation of the protocol. `legacy` covers the versions 2024-10-07 to 2025-11-25, which start with a handshake. */
export type MCPProtocol = "auto" | "legacy" | "2026-07-28";

/**
 * Authorization at an HTTP server: a bearer token, OAuth client credentials, or a provider of the SDK for anything
 * else, such as a login in a browser.
 */
export type MCPAuth =
  | {
      /** Type of the credential. */
      type: "bearer";
      /** Sent as `Authorization: Bearer`. */
      token: Secret;
    }
  | {
      /** Type of the credential. */
      type: "clientCredentials";
      /** Id of this client at the authorization server. */
      clientId: string;
      /** Secret of this client. */
      clientSecret: string;
      /** Scopes to request, separated by spaces. @default the scopes that the server requests */
      scope?: string;
      /**
       * Issuer URL of the only authorization server that receives the secret. @default an issuer with the same origin
       * as `url`
       */
      expectedIssuer?: string;
    }
  | {
      /** Type of the credential. */
      type: "provider";
      /** Provider of the MCP SDK. */
      provider: OAuthClientProvider | AuthProvider;
      /**
       * Issuer URL of the only authorization server that is used. @default any https server that the MCP server names;
       * client secrets, assertions and refresh tokens without an issuer are only sent to the origin of `url`
       */
      expectedIssuer?: string;
    };

/** Time limits of a server, in ms. Each is above 0 and finite. */
export interface MCPTimeouts {
  /** Time for the server to become ready. @default 60,000 */
  connect?: number;
  /** Time for one request whose caller sets no deadline. Progress does not extend it. @default 60,000 */
  request?: number;
  /** Time between closing a program's input and sending SIGTERM. @default 2,000 */
  stop?: number;
  /** Time between SIGTERM and SIGKILL. @default 3,000 */
  kill?: number;
}

/** Controls how a server is restarted after its connection was lost. */
export interface MCPRestart {
  /**
   * Maximum number of restarts within `window`, 0 or more; `Infinity` for no maximum. When it is reached, the server
   * has failed. The first call after the window restarts it. @default 5
   */
  limit?: number;
  /** Length of the window for `limit`, in ms, above 0. @default 60,000 */
  window?: number;
  /**
   * Wait before the second restart in a row, in ms, above 0. It doubles with each restart. The first restart is
   * immediate. Each wait is reduced by up to half at random. @default 250
   */
  delay?: number;
  /** Maximum wait, in ms, above 0. @default 10,000 */
  maxDelay?: number;
}

/** A server's request for input from the user. Do not trust its content: it is passed on unchanged. */
export interface MCPElicitRequest {
  /** Name of the server in the configuration. */
  server: string;
  /** Prompt for the user. */
  message: string;
  /** `form` requests values that match `requestedSchema`. `url` requests that the user opens `url`. */
  mode: "form" | "url";
  /** JSON Schema of the values in mode `form`. */
  requestedSchema?: unknown;
  /** Page to open in mode `url`. */
  url?: string;
  /** All parameters of the request. */
  params: Record<string, unknown>;
}

/** The user's response to an {@link MCPElicitRequest}. */
export interface MCPElicitResult {
  /** `accept` provides the input, `decline` refuses the request, and `cancel` dismisses it. */
  action: "accept" | "decline" | "cancel";
  /** The values in mode `form`. */
  content?: Record<string, string | number | boolean | string[]>;
}

/** Limits of one server, in addition to the general ones. */
export interface MCPLimits extends Limits {
  /** Maximum size of a message of a stdio server, in bytes. @default 10 MiB */
  lineBytes?: number;
  /** Maximum number of pages of one list. @default 64 */
  pages?: number;
}

/** Selects tools by name; `*` matches any characters. */
export interface MCPToolFilter {
  /** Tools to import. @default all */
  include?: string[];
  /** Tools to skip; overrides `include`. @default none */
  exclude?: string[];
}

/** Configuration of one MCP server. Set either `command` or `url`. */
export interface MCPClientConfig {
  /** Program of a stdio server. It is started without a shell. */
  command?: string;
  /** Arguments of the program, passed unchanged. */
  args?: string[];
  /** Environment of the program, in addition to `inheritEnv`. */
  env?: Record<string, string>;
  /**
   * Variables of this process that the program inherits. @default common variables such as `HOME` and `PATH`, never
   * secrets
   */
  inheritEnv?: string[];
  /** Working directory of the program. @default the working directory of this process */
  cwd?: string;

  /** Address of an HTTP server. */
  url?: string;
  /** Headers that are added to every HTTP request to the origin of `url`. A function is called for every request. */
  headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>);
  /** Credentials. They are only sent to the origin of `url`, and never appear in errors or logs. */
  auth?: MCPAuth;
  /** Sends HTTP requests. @default the global `fetch` */
  fetch?: typeof fetch;
  /**
   * `http` is Streamable HTTP, `sse` is HTTP+SSE of 2024-11-05. A function creates a custom transport for every
   * session. @default `http`, or `sse` if the server responds to `http` with 400, 404 or 405
   */
  transport?: "http" | "sse" | (() => Transport | Promise<Transport>);

  /**
   * Protocol generation. @default `auto` over HTTP; over stdio `legacy`, or 2026-07-28 if the server refuses `legacy`
   */
  protocol?: MCPProtocol;
  /** Time limits of the server. */
  timeouts?: MCPTimeouts;
  /** Controls restarts. With `false`, only `reconnect()` starts a program again after it has ended. @default true */
  restart?: boolean | MCPRestart;
  /** Limits of the server. */
  limits?: MCPLimits;
  /** Responds to requests for input from the user. @default these requests are refused */
  onElicit?: (
    request: MCPElicitRequest,
    options: { signal?: AbortSignal },
  ) => MCPElicitResult | Promise<MCPElicitResult>;

  /**
   * `"operations"` for a server that `serveMCP` or `serveMCPStdio` serves and that you trust: its operations keep their
   * ids, types, schemas and declared errors, and calls throw the original errors. Subscriptions are imported as queries
   * that return their first values. @default tools are imported as tools of a foreign server
   */
  trust?: "operations";
  /** Trusts the server's hints: `readOnlyHint` makes a query, `idempotentHint` sets `idempotent`. @default false */
  trustAnnotations?: boolean;
  /** Tools to import. @default all */
  tools?: MCPToolFilter;
  /**
   * Blocks tools that differ from their approved version. `true` approves the tools of the first load; a record
   * contains the approved hash of each tool by operation id. Until they are approved, changed tools fail with `UNAVAILABLE` and
   * new tools are not imported. @default false
   */
  pinned?: boolean | Record<string, string>;
  /**
   * Unwraps the `{ result }` object that servers put around values that are not objects, for older clients. @default
   * true
   */
  unwrapResults?: boolean;
  /** Also imports the server's resources as operations. @default false */
  resources?: boolean;
  /** Also imports the server's prompts as operations. @default false */
  prompts?: boolean;
  /** Policy for results that do not match the output schema. @default the policy of the registry */
  outputPolicy?: OutputPolicy;
  /** Access rule of all operations. @default `{ requiredScopes: [] }`, which allows every caller */
  accessControl?: AccessControl;
  /**
   * Receives a report of imported and skipped tools. @default each skipped tool is logged as a warning, on the console
   * until LogTape is configured
   */
  onReport?: (report: SourceReport) => void;
}
