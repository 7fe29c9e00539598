import { fromBase64 } from "../internal/base64.ts";
import { isObject } from "../internal/objects.ts";
import { CallError, type CallErrorJSON, type ResponseEnvelope } from "../operation/index.ts";

export { readBytes, toJSONText } from "./json-text.ts";

// How calls are written in HTTP: shared by the server, the client, and the importer of the operations of such a server.

/** Media type of a response with the whole envelope. */
export const envelopeType = "application/vnd.alkdev.envelope+json";

/** Media type of the response to a failed call (RFC 9457). */
export const problemType = "application/problem+json";

/** Media type of the values of a subscription. */
export const eventStreamType = "text/event-stream";

/** Names of the error statuses that servers send (RFC 9110, section 15). HTTP/2 and other runtimes than Node have none. */
export const statusTexts: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  410: "Gone",
  413: "Content Too Large",
  414: "URI Too Long",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  499: "Client Closed Request",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/**
 * The end of a stream. Parsers report the comment; the event has no data, so that no consumer takes it for a value. A client
 * that reconnects with its id has received everything.
 */
export const lastEvent = { id: "end", text: ": end\nevent: end\nid: end\n\n" } as const;

/** The comment before the last event. A stream that closes without it was interrupted. */
export const endComment = "end";

/** The levels of JSON that an envelope or a problem adds to the data or details. */
export const envelopeLevels = 2;

/**
 * Returns the path of an operation in URLs, `/namespace/name`. A name keeps its slashes; other characters are
 * percent-encoded. Returns `undefined` for what URLs cannot contain: a segment `.` or `..`, or a lone surrogate.
 */
export function formatOperationPath(namespace: string, name: string): string | undefined {
  const segments = [namespace, ...name.split("/")];
  if (segments.some((segment) => segment === "." || segment === "..")) return undefined;
  try {
    return segments.map((segment) => `/${encodeURIComponent(segment)}`).join("");
  } catch {
    return undefined;
  }
}

/** Returns the error that problem details describe; `undefined` if they have no code and another program sent them. */
export function readProblem(problem: unknown): CallError | undefined {
  if (!isObject(problem) || typeof problem["code"] !== "string") return undefined;
  const { detail: message, requestId, ...rest } = problem;
  const error = CallError.fromJSON({ ...rest, message } as unknown as CallErrorJSON);
  return typeof requestId === "string" ? Object.assign(error, { requestId }) : error;
}

/** Restores the bytes of a received envelope. Returns `undefined` if its encoding is unknown. Check that it is an envelope. */
export function readEnvelope(json: unknown): ResponseEnvelope | undefined {
  if (!isObject(json)) return json as never;
  const { data, meta, encoding } = json;
  if (encoding === undefined) return { data, meta } as ResponseEnvelope;
  const bytes = encoding === "base64" && typeof data === "string" ? fromBase64(data) : undefined;
  return bytes && ({ data: bytes, meta } as ResponseEnvelope);
}
