import type { Gate, GateRequest } from "../gate.ts";
import { safetyHeaders } from "../outcome.ts";
import type { FetchInfo } from "../server.ts";

const wellKnownPath = "/.well-known/oauth-protected-resource";

/** Returns a response with an error of JSON-RPC that belongs to no request. */
export function toRPCError(
  status: number,
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status, headers });
}

/**
 * Passes on a response of the SDK, with the headers of {@link protect}. A host with its own class of responses writes a
 * string several times faster than the stream of a global `Response`.
 */
export async function passOn(
  response: Response,
  headers: Readonly<Record<string, string>> | undefined,
  info: FetchInfo | undefined,
): Promise<Response> {
  const isJSON = response.headers.get("content-type")?.startsWith("application/json");
  if (info?.Response === undefined || !isJSON) return protect(response, headers);
  const all = { ...Object.fromEntries(response.headers), ...safetyHeaders, ...headers };
  return new info.Response(await response.text(), { status: response.status, headers: all });
}

/** Adds the headers that every response of this package has: it is not cached, and a browser does not display it. */
export function protect(response: Response, headers: Readonly<Record<string, string>> | undefined): Response {
  for (const [name, value] of Object.entries({ ...safetyHeaders, ...headers })) response.headers.set(name, value);
  return response;
}

/** Returns the path at which clients reach the server, without a slash at its end. */
function pathOf(request: GateRequest, info: FetchInfo | undefined): string {
  return (info?.basePath ?? new URL(request.url).pathname).replace(/\/+$/, "");
}

/**
 * Returns the parameter of `WWW-Authenticate` from which MCP clients learn where to obtain a token (RFC 9728). Empty if
 * the authenticator does not accept tokens of an authorization server.
 */
export function toChallengeParameter(gate: Gate, request: GateRequest, info: FetchInfo | undefined): string {
  const origin = gate.publicOrigin(request);
  if (origin === undefined || !hasAuthorizationServer(gate)) return "";
  return `resource_metadata="${origin}${wellKnownPath}${pathOf(request, info)}"`;
}

/** Returns the metadata of the server as a protected resource of OAuth (RFC 9728); `undefined` for any other request. */
export function toProtectedResource(gate: Gate, request: Request, info: FetchInfo | undefined): Response | undefined {
  const { pathname } = new URL(request.url);
  const basePath = (info?.basePath ?? "").replace(/\/+$/, "");
  const origin = gate.publicOrigin(request);
  if (pathname !== `${wellKnownPath}${basePath}` || origin === undefined || !hasAuthorizationServer(gate)) {
    return undefined;
  }
  // The document is public, and clients in web pages read it before they have a token.
  const headers = { "access-control-allow-origin": "*" };
  if (request.method !== "GET" && request.method !== "HEAD") {
    return protect(new Response(null, { status: 405, headers: { allow: "GET, HEAD" } }), undefined);
  }
  const metadata = {
    resource: `${origin}${basePath}`,
    authorization_servers: gate.description.authorizationServers,
    bearer_methods_supported: ["header"],
  };
  return protect(Response.json(metadata, { headers }), undefined);
}

function hasAuthorizationServer({ description }: Gate): boolean {
  return (description.authorizationServers?.length ?? 0) > 0;
}
