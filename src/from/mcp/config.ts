import type { AuthProvider, OAuthClientProvider, Transport } from "@modelcontextprotocol/client";
import type { AccessControl, Limits, OutputPolicy } from "../../operation/index.ts";
import type { SourceReport } from "../source.ts";

/** A secret, or a function that is asked for it at every request, so that tokens can rotate. */
export type MCPSecret = string | (() => string | Promise<string>);

/** Which protocol generation is spoken: `legacy` is 2024-10-07 to 2025-11-25, with a handshake. */
export type MCPProtocol = "auto" | "legacy" | "2026-07-28";

/**
 * What is sent as authorisation to an HTTP server: a bearer token, client credentials of a machine, or one of the SDK's
 * providers for everything else, such as a login in a browser.
 */
export type MCPAuth =
  | { type: "bearer"; token: MCPSecret }
  | {
      type: "clientCredentials";
      clientId: string;
      clientSecret: string;
      scope?: string;
      /** The only authorisation server that gets the secret, as its issuer URL. @default one of the origin of `url` */
      expectedIssuer?: string;
    }
  | {
      type: "provider";
      provider: OAuthClientProvider | AuthProvider;
      /**
       * The only authorisation server that is used, as its issuer URL. @default any over https that the MCP server names,
       * but client secrets, assertions and refresh tokens that name no issuer only go to the origin of `url`
       */
      expectedIssuer?: string;
    };

/** How long a server may take, in ms. Each is above 0 and finite. */
export interface MCPTimeouts {
  /** From start to ready. @default 60,000 */
  connect?: number;
  /** One request, where its caller gives no deadline. Progress does not extend it. @default 60,000 */
  request?: number;
  /** After closing its input until a program is told to end. @default 2,000 */
  stop?: number;
  /** After that until it is killed. @default 3,000 */
  kill?: number;
}

/** How a server that went away is brought back. */
export interface MCPRestart {
  /**
   * Restarts within `window` after which it has failed, 0 or more; `Infinity` restarts it for ever. A call after that
   * window starts it again. @default 5
   */
  limit?: number;
  /** In ms, above 0. @default 60,000 */
  window?: number;
  /** Wait before the second restart in a row, in ms, above 0; doubles with each. The first is made at once. @default 250 */
  delay?: number;
  /** Longest wait, in ms, above 0. @default 10,000 */
  maxDelay?: number;
}

/** What a server asks its user for. `params` are as the server sent them and are not to be trusted. */
export interface MCPElicitRequest {
  /** Name of the server in the configuration. */
  server: string;
  /** Text for the user. */
  message: string;
  /** `form` asks for values by `requestedSchema`, `url` to open `url`. */
  mode: "form" | "url";
  requestedSchema?: unknown;
  url?: string;
  params: Record<string, unknown>;
}

/** What the user said. */
export interface MCPElicitAnswer {
  action: "accept" | "decline" | "cancel";
  content?: Record<string, string | number | boolean | string[]>;
}

/** Bounds on what one server may cost, beside the general ones. */
export interface MCPLimits extends Limits {
  /** Longest message of a stdio server, in bytes. @default 10 MiB */
  lineBytes?: number;
  /** Most pages of one list. @default 64 */
  pages?: number;
}

/** Which tools are taken, by name; `*` stands for any run of characters. */
export interface MCPToolFilter {
  /** @default all */
  include?: string[];
  /** Wins over `include`. */
  exclude?: string[];
}

/** How one MCP server is started or reached. Either `command` or `url` must be given. */
export interface MCPClientConfig {
  /** Program of a stdio server. Started without a shell. */
  command?: string;
  /** Arguments of the program, passed byte for byte. */
  args?: string[];
  /** Environment of the program, beside what `inheritEnv` lets through. */
  env?: Record<string, string>;
  /** Variables of this process that the program may see. @default `HOME`, `PATH` and the like, never secrets */
  inheritEnv?: string[];
  /** Working directory of the program. @default that of this process */
  cwd?: string;

  /** Address of an HTTP server. */
  url?: string;
  /** Sent with every HTTP request, to the origin of `url` only; as a function asked at every request. */
  headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>);
  /** Sent to the origin of `url` only, and never in errors or logs. */
  auth?: MCPAuth;
  /** @default the global `fetch` */
  fetch?: typeof fetch;
  /**
   * `http` is Streamable HTTP, `sse` the HTTP+SSE of 2024-11-05; a function makes a transport of one's own, anew at every
   * connection. @default `http`, and `sse` where the server answers that with 400, 404 or 405
   */
  transport?: "http" | "sse" | (() => Transport | Promise<Transport>);

  /** @default `auto` over HTTP; over stdio `legacy`, and 2026-07-28 where the server refuses the handshake */
  protocol?: MCPProtocol;
  timeouts?: MCPTimeouts;
  /** `false` leaves a program that ended alone until `reconnect()`. @default true */
  restart?: boolean | MCPRestart;
  /** Bounds on what the server may cost. */
  limits?: MCPLimits;
  /** Answers what the server asks its user for. @default such requests are refused */
  onElicit?: (
    request: MCPElicitRequest,
    options: { signal?: AbortSignal },
  ) => MCPElicitAnswer | Promise<MCPElicitAnswer>;

  /** Believes the server's hints: `readOnlyHint` makes a query, `idempotentHint` sets `idempotent`. @default false */
  trustAnnotations?: boolean;
  tools?: MCPToolFilter;
  /**
   * Holds tools back that are not what was approved: what the first load found with `true`, else what has its hash
   * here, by tool name. They fail with `UNAVAILABLE`, new ones are not there, until they are approved. @default false
   */
  pinned?: boolean | Record<string, string>;
  /** Whether the `{ result }` that servers wrap around what is no object, for older clients, is taken off. @default true */
  unwrapResults?: boolean;
  /** Offers the server's resources as operations too. @default false */
  resources?: boolean;
  /** Offers the server's prompts as operations too. @default false */
  prompts?: boolean;
  /** What is done with answers that do not fit. @default the registry's */
  outputPolicy?: OutputPolicy;
  /** What callers of these operations must be allowed to do. @default `{ requiredScopes: [] }` */
  accessControl?: AccessControl;
  /** Hears what was imported and left out. @default one warning each in the log */
  onReport?: (report: SourceReport) => void;
}
