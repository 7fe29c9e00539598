import type { FetchLike } from "@modelcontextprotocol/client";
import { allowManyListeners } from "../../../internal/abort-listeners.ts";
import { CallError } from "../../../operation/index.ts";
import type { MCPClientConfig } from "../config.ts";
import { answerTooLarge, boundReading, cutBody } from "./bounded-body.ts";
import { boundEvents } from "./event-stream.ts";
import { dropForeignMetadata, type IssuerGuard } from "./issuer-guard.ts";
import type { MessageTap } from "./message-tap.ts";
import { addHeaders } from "./secrets.ts";

/** What the fetch of one connection is made of. */
export interface GuardedFetchOptions {
  url: URL;
  headers: MCPClientConfig["headers"];
  fetch: typeof fetch;
  /** Largest decoded answer, and largest event of a stream, in bytes. */
  maxBytes: number;
  secrets: Set<string>;
  /** Decides about requests to other origins, which only logins make. */
  guard: IssuerGuard;
  tap(): MessageTap | undefined;
  /** The server does not know the session any more. */
  onSessionLost(): void;
}

const longestErrorPage = 64 * 1024;

/** A fetch that bounds what comes back and tells when the session is gone. */
export function createGuardedFetch(options: GuardedFetchOptions): FetchLike {
  const { url, fetch, maxBytes } = options;
  // A server without a stream of its own may answer 404 to the request for one; a lost session shows only later.
  let streamed = false;
  return async (target, init) => {
    const { origin } = new URL(target);
    if (origin !== url.origin) options.guard.assertForeignTarget(new URL(target), init?.method);
    const request = await prepare(options, origin, init);
    const response = await fetch(target, request);
    if (!response.ok) {
      if (response.type === "opaqueredirect") return response;
      if (response.status === 404 && isInSession(request) && (streamed || request.method === "POST")) {
        options.onSessionLost();
      }
      return withoutForeignMetadata(
        replaceBody(response, cutBody(response, Math.min(maxBytes, longestErrorPage))),
        url,
      );
    }
    if (response.body === null || isSmall(response, maxBytes)) return response;
    if (!isEventStream(response)) return boundReading(response, maxBytes);
    if (origin !== url.origin) return response;
    if (request.method === "GET") streamed = true;
    const body = boundEvents(response.body, maxBytes, () => {
      const id = requestIdOf(request.body);
      if (id !== undefined) options.tap()?.fail(id, answerTooLarge(maxBytes));
    });
    // Streams are only read by their body; another response would cost as much as the rest of the guard.
    return Object.defineProperty(response, "body", { value: body });
  };
}

async function prepare(options: GuardedFetchOptions, origin: string, init: RequestInit = {}): Promise<RequestInit> {
  const { headers: configured, url, secrets } = options;
  if (init.signal) allowManyListeners(init.signal);
  // Only to the server itself: token endpoints and the like may be anywhere.
  if (configured === undefined || origin !== url.origin) return init;
  const own = typeof configured === "function" ? await configured() : configured;
  if (typeof configured === "function") addHeaders(secrets, own);
  const headers = new Headers(init.headers);
  for (const [name, value] of Object.entries(own)) if (!headers.has(name)) setHeader(headers, name, value);
  return { ...init, headers };
}

function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    // The platform's message shows the value, which may be a secret.
    throw new CallError("VALIDATION_ERROR", `The header ${JSON.stringify(name)} cannot be sent.`, undefined, {
      mayHaveRun: false,
    });
  }
}

function isInSession({ method, headers }: RequestInit): boolean {
  return method !== "DELETE" && new Headers(headers).has("mcp-session-id");
}

/** The platform holds a body to the length that was announced; only decoding can make more of it. */
function isSmall({ headers }: Response, maxBytes: number): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= maxBytes && !headers.has("content-encoding");
}

function isEventStream(response: Response): boolean {
  return /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
}

/** The id of the request in a body, if it is one. */
function requestIdOf(body: RequestInit["body"]): string | number | undefined {
  if (typeof body !== "string") return undefined;
  const { id, method } = JSON.parse(body) as { id?: string | number; method?: string };
  return method === undefined ? undefined : id;
}

function withoutForeignMetadata(response: Response, server: URL): Response {
  const challenge = response.headers.get("www-authenticate");
  if (challenge !== null) response.headers.set("www-authenticate", dropForeignMetadata(challenge, server));
  return response;
}

function replaceBody(response: Response, body: ReadableStream<Uint8Array> | null): Response {
  const copy = new Response(body, {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers,
  });
  // Redirects are judged by where the answer came from.
  Object.defineProperty(copy, "url", { value: response.url });
  Object.defineProperty(copy, "type", { value: response.type });
  return copy;
}
