import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { withoutTrailingSlashes } from "../../internal/urls.ts";
import type { Caller } from "../authentication.ts";
import type { Gate, GateRequest } from "../gate.ts";
import { safetyHeaders } from "../outcome.ts";
import type { FetchInfo } from "../server.ts";

type HeaderValues = Caller["headers"];

const wellKnownPath = "/.well-known/oauth-protected-resource";

/** Returns a response with an error of JSON-RPC that belongs to no request. */
export function toRPCError(
  status: number,
  code: number,
  message: string,
  { headers = {}, data }: { headers?: HeaderValues; data?: unknown } = {},
): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code, message, data } }, { status, headers });
}

/**
 * Passes on a response or message with the headers that every response of this package has. A host with its own class of
 * responses writes a string several times faster than the stream of a global `Response`.
 */
export async function passOn(
  result: Response | JSONRPCMessage,
  headers: HeaderValues,
  info?: FetchInfo,
): Promise<Response> {
  const added = { ...safetyHeaders, ...headers };
  const create = (text: string, status: number, others: HeaderValues) =>
    new (info?.Response ?? Response)(text, { status, headers: { ...others, ...added } });
  if ("jsonrpc" in result) return create(JSON.stringify(result), 200, { "content-type": "application/json" });
  if (info?.Response !== undefined && result.headers.get("content-type")?.startsWith("application/json")) {
    return create(await result.text(), result.status, Object.fromEntries(result.headers));
  }
  for (const [name, value] of Object.entries(added)) result.headers.set(name, value);
  return result;
}

/**
 * Returns the parameters of `WWW-Authenticate` with which MCP clients find where to obtain a token (RFC 9728). Empty if
 * the authenticator does not accept tokens of an authorization server.
 */
export function toChallengeParameters(gate: Gate, request: GateRequest, info: FetchInfo | undefined): string[] {
  const origin = resourceOrigin(gate, request);
  if (origin === undefined) return [];
  return [
    `resource_metadata="${origin}${wellKnownPath}${withoutTrailingSlashes(info?.basePath ?? new URL(request.url).pathname)}"`,
  ];
}

/**
 * Returns the metadata of the server as a protected resource of OAuth (RFC 9728); `undefined` for any other request.
 * Without a mount, every path is that of the server.
 */
export function toProtectedResource(gate: Gate, request: Request, info: FetchInfo | undefined): Response | undefined {
  if (!request.url.includes(wellKnownPath)) return undefined; // Most requests. Parsing the URL costs more.
  const { pathname } = new URL(request.url);
  const basePath = withoutTrailingSlashes(info?.basePath ?? pathname.slice(wellKnownPath.length));
  const origin = resourceOrigin(gate, request);
  if (origin === undefined || pathname !== wellKnownPath + basePath) return undefined;
  const metadata = {
    resource: `${origin}${basePath}`,
    authorization_servers: gate.description.authorizationServers,
    bearer_methods_supported: ["header"],
  };
  // The document is public, and clients in web pages read it before they have a token.
  return Response.json(metadata, { headers: { ...safetyHeaders, "access-control-allow-origin": "*" } });
}

/** Returns the origin of a server that accepts tokens of an authorization server; `undefined` for any other server. */
function resourceOrigin(gate: Gate, request: GateRequest): string | undefined {
  return gate.description.authorizationServers?.length ? gate.publicOrigin(request) : undefined;
}
