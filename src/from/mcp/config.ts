import type { AuthProvider, OAuthClientProvider, Transport } from "@modelcontextprotocol/client";
import type { AccessControl, Limits, OutputPolicy } from "../../operation/index.ts";
import type { Secret, SourceReport } from "../source.ts";

/** Generation of the protocol: `legacy` is 2024-10-07 to 2025-11-25, with a handshake. */
export type MCPProtocol = "auto" | "legacy" | "2026-07-28";

/**
 * Authorisation at an HTTP server: a bearer token, client credentials of a machine, or one of the SDK's providers for
 * everything else, such as a login in a browser.
 */
export type MCPAuth =
  | {
      type: "bearer";
      /** Sent as `Authorization: Bearer`. */
      token: Secret;
    }
  | {
      type: "clientCredentials";
      /** Id of this client at the authorization server. */
      clientId: string;
      /** Secret that belongs to the id. */
      clientSecret: string;
      /** Scopes to request, separated by spaces. @default those that the server names */
      scope?: string;
      /** Issuer URL of the only authorization server that receives the secret. @default one of the origin of `url` */
      expectedIssuer?: string;
    }
  | {
      type: "provider";
      /** Provider of the MCP SDK. */
      provider: OAuthClientProvider | AuthProvider;
      /**
       * Issuer URL of the only authorization server that is used. @default any over https that the MCP server names, but
       * client secrets, assertions and refresh tokens without an issuer are only sent to the origin of `url`
       */
      expectedIssuer?: string;
    };

/** Time limits of a server, in ms. Each is above 0 and finite. */
export interface MCPTimeouts {
  /** From start to ready. @default 60,000 */
  connect?: number;
  /** One request, if its caller sets no deadline. Progress does not extend it. @default 60,000 */
  request?: number;
  /** From closing a program's input to SIGTERM. @default 2,000 */
  stop?: number;
  /** From SIGTERM to SIGKILL. @default 3,000 */
  kill?: number;
}

/** How a server is restarted after its connection was lost. */
export interface MCPRestart {
  /**
   * Maximum number of restarts within `window`, 0 or more; `Infinity` for no maximum. Above it the server has failed, and a
   * call after the window restarts it. @default 5
   */
  limit?: number;
  /** In ms, above 0. @default 60,000 */
  window?: number;
  /**
   * Maximum wait before the second restart in a row, in ms, above 0; it doubles with each. The first restart is immediate;
   * each wait is reduced by up to half at random. @default 250
   */
  delay?: number;
  /** Maximum wait, in ms, above 0. @default 10,000 */
  maxDelay?: number;
}

/** Input that a server requests of its user. Do not trust it: it is as the server sent it. */
export interface MCPElicitRequest {
  /** Name of the server in the configuration. */
  server: string;
  /** Prompt for the user. */
  message: string;
  /** `form` requests values by `requestedSchema`, `url` requests to open `url`. */
  mode: "form" | "url";
  /** JSON Schema of the values in mode `form`. */
  requestedSchema?: unknown;
  /** Page to open in mode `url`. */
  url?: string;
  /** All parameters of the request. */
  params: Record<string, unknown>;
}

/** Response of the user to an {@link MCPElicitRequest}. */
export interface MCPElicitResult {
  /** `decline` refuses the request, `cancel` dismisses it. */
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

/** How one MCP server is started or reached. Set either `command` or `url`. */
export interface MCPClientConfig {
  /** Program of a stdio server. Started without a shell. */
  command?: string;
  /** Arguments of the program, passed byte for byte. */
  args?: string[];
  /** Environment of the program, in addition to `inheritEnv`. */
  env?: Record<string, string>;
  /** Variables of this process that the program inherits. @default `HOME`, `PATH` and the like, never secrets */
  inheritEnv?: string[];
  /** Working directory of the program. @default that of this process */
  cwd?: string;

  /** Address of an HTTP server. */
  url?: string;
  /** Headers of every HTTP request to the origin of `url`. A function is called for every request. */
  headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>);
  /** Credentials. They are sent to the origin of `url` only, and never appear in errors or logs. */
  auth?: MCPAuth;
  /** Sends HTTP requests. @default the global `fetch` */
  fetch?: typeof fetch;
  /**
   * `http` is Streamable HTTP, `sse` is HTTP+SSE of 2024-11-05; a function creates another transport for every session.
   * @default `http`, and `sse` if the server responds to that with 400, 404 or 405
   */
  transport?: "http" | "sse" | (() => Transport | Promise<Transport>);

  /** Protocol generation. @default `auto` over HTTP; over stdio `legacy`, and 2026-07-28 if the server refuses it */
  protocol?: MCPProtocol;
  /** Time limits of the server. */
  timeouts?: MCPTimeouts;
  /** With `false` a program that ended is only started again by `reconnect()`. @default true */
  restart?: boolean | MCPRestart;
  /** Limits of the server. */
  limits?: MCPLimits;
  /** Responds to requests for input of the user. @default such requests are refused */
  onElicit?: (
    request: MCPElicitRequest,
    options: { signal?: AbortSignal },
  ) => MCPElicitResult | Promise<MCPElicitResult>;

  /** Trusts the server's hints: `readOnlyHint` makes a query, `idempotentHint` sets `idempotent`. @default false */
  trustAnnotations?: boolean;
  /** Tools to import. @default all */
  tools?: MCPToolFilter;
  /**
   * Holds back tools that differ from what was approved: with `true` from the first load, otherwise from the hashes by tool
   * name. Changed tools fail with `UNAVAILABLE`, and new ones are not imported, until they are approved. @default false
   */
  pinned?: boolean | Record<string, string>;
  /** Removes the `{ result }` that servers wrap around other values than objects for older clients. @default true */
  unwrapResults?: boolean;
  /** Also imports the server's resources as operations. @default false */
  resources?: boolean;
  /** Also imports the server's prompts as operations. @default false */
  prompts?: boolean;
  /** How results that do not match the output schema are handled. @default the policy of the registry */
  outputPolicy?: OutputPolicy;
  /** Access rule of all operations. @default `{ requiredScopes: [] }`, which allows every caller */
  accessControl?: AccessControl;
  /** Receives what was imported and skipped. @default one warning each in the log, and on the console until LogTape is configured */
  onReport?: (report: SourceReport) => void;
}
