import type { FetchLike } from "@modelcontextprotocol/client";
import { allowManyListeners } from "../../../internal/abort-listeners.ts";
import { CallError } from "../../../operation/index.ts";
import type { MCPClientConfig } from "../config.ts";
import { boundEvents, boundReading, responseTooLarge, truncateBody } from "./bounded-response.ts";
import { dropForeignMetadata, type IssuerGuard } from "./issuer-guard.ts";
import { addSecretHeaders } from "./settings.ts";

/** Options of {@link createGuardedFetch}. */
export interface GuardedFetchOptions {
  url: URL;
  headers: MCPClientConfig["headers"];
  fetch: typeof fetch;
  /** Maximum size of a decoded response, and of an event of a stream, in bytes. */
  maxBytes: number;
  secrets: Set<string>;
  /** Checks requests to other origins, which occur only during a login. */
  guard: IssuerGuard;
  /** Fails the JSON-RPC request with this id, because its response was cut off. */
  failRequest(id: string | number, error: CallError): void;
  /** The server does not know the session any more. */
  onExpired(): void;
}

const maxErrorPageBytes = 64 * 1024;

/** Creates a `fetch` that adds the configured headers, bounds responses, and reports an expired session. */
export function createGuardedFetch(options: GuardedFetchOptions): FetchLike {
  const { url, fetch, maxBytes } = options;
  // A server without a stream of notifications may return 404 for one. Only after a stream was opened a 404 means that the
  // session expired.
  let hasStreamed = false;
  return async (target, init) => {
    const { origin } = new URL(target);
    if (origin !== url.origin) options.guard.assertForeignTarget(new URL(target), init?.method);
    const request = await prepare(options, origin, init);
    const response = await fetch(target, request);
    if (!response.ok) {
      if (response.type === "opaqueredirect") return response;
      if (response.status === 404 && isInSession(request) && (hasStreamed || request.method === "POST")) {
        options.onExpired();
      }
      return toErrorPage(response, Math.min(maxBytes, maxErrorPageBytes), url);
    }
    if (response.body === null || isSmall(response, maxBytes)) return response;
    if (!isEventStream(response)) return boundReading(response, maxBytes);
    if (origin !== url.origin) return response;
    if (request.method === "GET") hasStreamed = true;
    const body = boundEvents(response.body, maxBytes, () => {
      const id = requestIdOf(request.body);
      if (id !== undefined) options.failRequest(id, responseTooLarge(maxBytes));
    });
    // The SDK reads only the body of a stream; creating another response would cost as much as all the other checks.
    return Object.defineProperty(response, "body", { value: body });
  };
}

async function prepare(options: GuardedFetchOptions, origin: string, init: RequestInit = {}): Promise<RequestInit> {
  const { headers: configured, url, secrets } = options;
  if (init.signal) allowManyListeners(init.signal);
  // Configured headers are only for the server itself: a token endpoint may have any origin.
  if (configured === undefined || origin !== url.origin) return init;
  const own = typeof configured === "function" ? await configured() : configured;
  if (typeof configured === "function") addSecretHeaders(secrets, own);
  const headers = new Headers(init.headers);
  for (const [name, value] of Object.entries(own)) if (!headers.has(name)) setHeader(headers, name, value);
  return { ...init, headers };
}

function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    // The platform's message contains the value, which may be a secret.
    throw new CallError("VALIDATION_ERROR", `The header ${JSON.stringify(name)} cannot be sent.`, undefined, {
      mayHaveRun: false,
    });
  }
}

function isInSession({ method, headers }: RequestInit): boolean {
  return method !== "DELETE" && new Headers(headers).has("mcp-session-id");
}

/** The platform enforces `content-length`; only decoding can make a body longer. */
function isSmall({ headers }: Response, maxBytes: number): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= maxBytes && !headers.has("content-encoding");
}

function isEventStream(response: Response): boolean {
  return /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
}

/** The id of the JSON-RPC request in a body. */
function requestIdOf(body: RequestInit["body"]): string | number | undefined {
  if (typeof body !== "string") return undefined;
  const { id, method } = JSON.parse(body) as { id?: string | number; method?: string };
  return method === undefined ? undefined : id;
}

/** A copy of an error response with a bounded body, and without metadata of other origins. */
function toErrorPage(response: Response, maxBytes: number, server: URL): Response {
  const { body, status, statusText, headers, url, type } = response;
  const page = new Response(body && truncateBody(body, maxBytes), { status, statusText, headers });
  const challenge = headers.get("www-authenticate");
  if (challenge !== null) page.headers.set("www-authenticate", dropForeignMetadata(challenge, server));
  // The SDK checks redirects by these two.
  return Object.defineProperties(page, { url: { value: url }, type: { value: type } });
}
