import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { withoutTrailingSlashes } from "../../internal/urls.ts";
import { CallError } from "../../operation/index.ts";
import { eventStreamType } from "../../transport/http-form.ts";
import type { Exchange } from "../exchange.ts";
import type { Gate } from "../gate.ts";
import { safetyHeaders } from "../outcome.ts";
import { HTTPError } from "../refusals.ts";
import type { Heartbeat } from "../stream-writer.ts";
import type { ToolRequest } from "./tool-server.ts";

/** A request over HTTP that the gate has admitted. */
export interface MCPRequest extends ToolRequest {
  readonly exchange: Exchange;
  /** Headers that the response must have. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed body of a POST. */
  readonly body: unknown;
}

/** An error of JSON-RPC that belongs to no message, with the status of its response. */
export class RPCError extends Error {
  readonly status: number;
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: unknown;

  constructor(
    status: number,
    code: number,
    message: string,
    { headers = {}, data }: { headers?: Readonly<Record<string, string>>; data?: unknown } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
    this.data = data;
  }

  toJSON(): unknown {
    return { jsonrpc: "2.0", id: null, error: { code: this.code, message: this.message, data: this.data } };
  }
}

/** A caller has opened too much that lasts. `what` names it. */
export function tooMany(what: string, allowed: number): HTTPError {
  const message = `Too many ${what} are open: the limit is ${allowed}, and one caller cannot have most of them. Close some.`;
  return new HTTPError(
    429,
    new CallError("LIMIT_EXCEEDED", message, { allowed }, { retryable: true, mayHaveRun: false }),
  );
}

/** Headers of a stream of messages. */
export const streamHeaders = { "content-type": eventStreamType, "x-accel-buffering": "no" } as const;

/** Keeps proxies from closing a stream without messages. */
export const heartbeat: Heartbeat = { text: ": keepalive\n\n", everyMs: 15_000 };

/** Returns a message as an event of a stream. */
export function toEvent(message: JSONRPCMessage): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}

const wellKnownPath = "/.well-known/oauth-protected-resource";

/** The part of a request that its metadata depends on. */
type ResourceRequest = Pick<Exchange, "method" | "url" | "path" | "headers" | "basePath">;

/**
 * Returns the parameters of `WWW-Authenticate` with which MCP clients find where to obtain a token (RFC 9728). Empty if
 * the authenticator does not accept tokens of an authorization server.
 */
export function toChallengeParameters(gate: Gate, request: ResourceRequest): string[] {
  const origin = resourceOrigin(gate, request);
  const path = withoutTrailingSlashes(request.basePath ?? request.path);
  return origin === undefined ? [] : [`resource_metadata="${origin}${wellKnownPath}${path}"`];
}

/**
 * Returns the metadata of the server as a protected resource of OAuth (RFC 9728), for clients that do not have a token;
 * `undefined` for any other request. Without a mount, every path is that of the server.
 */
export function toProtectedResource(gate: Gate, request: ResourceRequest): string | undefined {
  const { path } = request;
  if (!path.startsWith(wellKnownPath)) return undefined;
  const basePath = withoutTrailingSlashes(request.basePath ?? path.slice(wellKnownPath.length));
  const origin = resourceOrigin(gate, request);
  if (origin === undefined || path !== wellKnownPath + basePath) return undefined;
  return JSON.stringify({
    resource: `${origin}${basePath}`,
    authorization_servers: gate.description.authorizationServers,
    bearer_methods_supported: ["header"],
  });
}

/** Headers of that metadata: web pages may read it. */
export const metadataHeaders = {
  ...safetyHeaders,
  "access-control-allow-origin": "*",
  "content-type": "application/json",
} as const;

/** Returns the origin of a server that accepts tokens of an authorization server; `undefined` for any other server. */
function resourceOrigin(gate: Gate, request: ResourceRequest): string | undefined {
  return gate.description.authorizationServers?.length ? gate.publicOrigin(request) : undefined;
}
