import type { FetchLike } from "@modelcontextprotocol/client";
import { allowManyListeners } from "../../../internal/wait.ts";
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
  /** Fails the JSON-RPC request with this id, because its response was truncated. */
  failRequest(id: string | number, error: CallError): void;
  /** Called when the server no longer has the session. */
  onExpired(): void;
}

const maxErrorPageBytes = 64 * 1024;

/** Creates a `fetch` that adds the configured headers, bounds responses, and reports an expired session. */
export function createGuardedFetch(options: GuardedFetchOptions): FetchLike {
  const { url, fetch, maxBytes } = options;
  // A server without a notification stream may respond to its request with 404. Only after a stream was opened does a
  // 404 mean that the session expired.
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
    // The SDK reads only the body of a stream. Creating another response would cost as much as all other checks
    // together.
    return Object.defineProperty(response, "body", { value: body });
  };
}

async function prepare(options: GuardedFetchOptions, origin: string, init: RequestInit = {}): Promise<RequestInit> {
  const { headers: configured, url, secrets } = options;
  if (init.signal) allowManyListeners(init.signal);
  // Send configured headers only to the server itself: a token endpoint may have any origin.
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
    throw new CallError(
      "VALIDATION_ERROR",
      `The value of the header ${JSON.stringify(name)} is invalid. Check "headers".`,
      undefined,
      {
        mayHaveRun: false,
      },
    );
  }
}

function isInSession({ method, headers }: RequestInit): boolean {
  return method !== "DELETE" && new Headers(headers).has("mcp-session-id");
}

/**
 * Whether `content-length` proves that a body is small. The platform enforces it; only decoding makes a body longer.
 */
function isSmall({ headers }: Response, maxBytes: number): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= maxBytes && !headers.has("content-encoding");
}

function isEventStream(response: Response): boolean {
  return /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
}

/** Returns the id of the JSON-RPC request in a body. */
function requestIdOf(body: RequestInit["body"]): string | number | undefined {
  if (typeof body !== "string") return undefined;
  const { id, method } = JSON.parse(body) as { id?: string | number; method?: string };
  return method === undefined ? undefined : id;
}

/** Copies an error response with a bounded body and without metadata URLs of other origins. */
function toErrorPage(response: Response, maxBytes: number, server: URL): Response {
  const { body, status, statusText, headers, url, type } = response;
  const page = new Response(body && truncateBody(body, maxBytes), { status, statusText, headers });
  const challenge = headers.get("www-authenticate");
  if (challenge !== null) page.headers.set("www-authenticate", dropForeignMetadata(challenge, server));
  // The SDK reads these two properties to detect redirects.
  return Object.defineProperties(page, { url: { value: url }, type: { value: type } });
}
