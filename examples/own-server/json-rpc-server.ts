// #region server
import { type CallError, errorCodes, type Identity, mapError, type OperationRegistry } from "@alkdev/operations";
import type { FetchInfo, FetchServer, IdentifyCaller } from "@alkdev/operations/serve-http";

/** Serves queries and mutations of a registry as methods of JSON-RPC 2.0. */
export function serveJSONRPC(registry: OperationRegistry, authenticate: IdentifyCaller): FetchServer {
  const stopping = new AbortController();
  const running = new Set<Promise<Response>>();
  let isClosed = false;

  const respond = async (request: Request, info: FetchInfo = {}): Promise<Response> => {
    const problem = refuse(request);
    if (problem !== undefined) return problem;
    const identity = await identify(authenticate, request, info);
    if (identity === undefined) return new Response(null, { status: 401, headers: { "www-authenticate": "Bearer" } });
    const call = await readCall(request);
    if (call === undefined) return reply({ id: null, error: { code: -32700, message: "The body is not a request." } });
    const { id = null, method, params = {} } = call;
    const signal = AbortSignal.any([request.signal, stopping.signal]);
    try {
      const { data } = await registry.execute(method, params, { identity, signal, timeout: 30_000 });
      return reply({ id, result: data ?? null });
    } catch (error) {
      return reply({ id, error: toRPCError(mapError(error)) });
    }
  };

  const server: FetchServer = {
    isUnauthenticated: false,
    fetch: (request, info) => {
      if (isClosed) return new Response(null, { status: 503 });
      const response = respond(request, info).catch(() => new Response(null, { status: 500 }));
      running.add(response);
      void response.then(() => running.delete(response));
      return response;
    },
    close: async ({ timeout = 10_000 } = {}) => {
      isClosed = true;
      const timer = setTimeout(() => stopping.abort(), timeout);
      await Promise.all(running);
      clearTimeout(timer);
    },
    [Symbol.asyncDispose]: () => server.close(),
  };
  return server;
}
// #endregion server

// #region refuse
/** Refuses requests of web pages, and bodies that are not JSON. */
function refuse({ method, headers }: Request): Response | undefined {
  if (headers.has("origin") || headers.has("sec-fetch-site")) return new Response(null, { status: 403 });
  if (method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
  return headers.get("content-type") === "application/json" ? undefined : new Response(null, { status: 415 });
}

/** Returns the caller; `undefined` if the credentials are missing, invalid or expired. */
async function identify(
  authenticate: IdentifyCaller,
  { headers }: Request,
  { remoteAddress }: FetchInfo,
): Promise<Identity | undefined> {
  const token = /^Bearer (\S+)$/i.exec(headers.get("authorization") ?? "")?.[1];
  try {
    const identity = await authenticate({ headers, token, remoteAddress });
    return (identity?.expiresAt ?? Number.POSITIVE_INFINITY) > Date.now() ? identity : undefined;
  } catch {
    return undefined;
  }
}
// #endregion refuse

// #region errors
/** The message of an error that was not thrown as a `CallError` may contain anything, so callers do not receive it. */
function toRPCError(error: CallError): object {
  const codes: Record<string, { jsonRPCCode: number }> = errorCodes;
  const message = error.cause === undefined ? error.message : "The operation failed.";
  return {
    code: codes[error.code]?.jsonRPCCode ?? -31000,
    message,
    data: { code: error.code, details: error.details },
  };
}
// #endregion errors

interface RPCCall {
  id?: unknown;
  method: string;
  params?: unknown;
}

const maxBodyLength = 1024 * 1024;

async function readCall(request: Request): Promise<RPCCall | undefined> {
  if (!(Number(request.headers.get("content-length") ?? Number.NaN) <= maxBodyLength)) return undefined;
  try {
    const call = (await request.json()) as RPCCall | null;
    return typeof call?.method === "string" ? call : undefined;
  } catch {
    return undefined;
  }
}

function reply(message: object): Response {
  return Response.json({ jsonrpc: "2.0", ...message }, { headers: { "cache-control": "no-store" } });
}
