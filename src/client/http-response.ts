import { isObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { CallError, type ResponseEnvelope } from "../operation/inside.ts";
import { envelopeType, problemType, readProblem } from "../transport/http-form.ts";

/** Limits of a client, as in `defaultLimits`, most of which only other parts of this package have. */
export const defaultClientLimits = { pendingCalls: 20_000, responseBytes: 2 ** 26, eventBytes: 2 ** 20 };

/** The limits that apply to a client over HTTP. */
export type ClientLimits = { readonly [Name in keyof typeof defaultClientLimits]: number };

/** A connection that was lost. The message is the reason. */
export class ConnectionLost extends Error {}

/** Reads the result of a query or mutation. Throws the error of a call that failed. */
export async function readResult(id: string, response: Response, limits: ClientLimits): Promise<ResponseEnvelope> {
  await checkResponse(id, response, envelopeType, limits);
  return toEnvelope(id, await readJSON(id, response, limits));
}

/** Throws the error of a response that is a problem, or that a server of this package does not send. */
export async function checkResponse(
  id: string,
  response: Response,
  expected: string,
  limits: ClientLimits,
): Promise<void> {
  const [type = ""] = (response.headers.get("content-type") ?? "").split(";", 1);
  const essence = type.trim().toLowerCase();
  if (response.ok && essence === expected && response.body !== null) return;
  const problem = essence === problemType ? readProblem(await readJSON(id, response, limits)) : undefined;
  throw problem ?? unexpected(id, response);
}

/** Yields the parts of a body. `wait` waits for the next one. */
export async function* readText(
  id: string,
  { body }: Response,
  maxBytes: number,
  wait: <T>(part: Promise<T>) => Promise<T> = (part) => part,
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = body!.getReader();
  try {
    for (let bytes = 0; ; ) {
      const { done, value } = await wait(reader.read());
      if (done) return;
      bytes += value.byteLength;
      if (bytes > maxBytes) throw tooLarge(id, "responseBytes", maxBytes);
      yield decode(id, decoder, value);
    }
  } finally {
    reader.cancel().catch(() => {}); // A body that failed is already cancelled.
  }
}

function decode(id: string, decoder: TextDecoder, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true });
  } catch {
    throw badResponse(id, "is not UTF-8");
  }
}

async function readJSON(id: string, response: Response, limits: ClientLimits): Promise<unknown> {
  let json = "";
  if (response.body !== null) for await (const text of readText(id, response, limits.responseBytes)) json += text;
  return parse(id, json);
}

/** Parses JSON. Throws `BAD_RESPONSE` if it is malformed. */
export function parse(id: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw badResponse(id, "is not JSON"); // no cause: the parser's message quotes the input
  }
}

/** The media type says that it is an envelope. Only what this client reads itself is checked. */
export function toEnvelope(id: string, json: unknown): ResponseEnvelope {
  if (!isObject(json) || !isObject(json["meta"])) throw badResponse(id, "is not an envelope");
  const { data, meta, encoding } = json;
  const bytes = encoding === "base64" ? toBytes(data) : undefined;
  if (encoding !== undefined && bytes === undefined) throw badResponse(id, "has data in an unknown encoding");
  return { data: bytes ?? data, meta } as ResponseEnvelope;
}

/** Decodes base64 without `Buffer`, which pages do not have. */
function toBytes(data: unknown): Uint8Array | undefined {
  try {
    return typeof data === "string" && data.length % 4 === 0 ? Uint8Array.from(atob(data), toByte) : undefined;
  } catch {
    return undefined;
  }
}

const toByte = (character: string) => character.charCodeAt(0);

/** Codes of the statuses of proxies whose meaning is certain. */
const foreignCodes: Readonly<Record<number, string>> = {
  401: "UPSTREAM_DENIED",
  403: "UPSTREAM_DENIED",
  413: "PAYLOAD_TOO_LARGE",
  429: "LIMIT_EXCEEDED",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "UNAVAILABLE",
};

/**
 * Creates the error for a response that a server of this package does not send, such as the page of a proxy, or a
 * redirect, which is not followed, because the token must not reach another server.
 */
function unexpected(operationId: string, { status, headers }: Response): CallError {
  const contentType = headers.get("content-type") ?? "";
  const message = `The response to ${quote(operationId)} is not from a server of operations: it has status ${status} and content type ${quote(contentType)}. Check the URL of the server.`;
  const code = foreignCodes[status] ?? "BAD_RESPONSE";
  const retryable = code === "UNAVAILABLE" || code === "LIMIT_EXCEEDED";
  return new CallError(code, message, { operationId, status, contentType: contentType.slice(0, 200) }, { retryable });
}

/** `BAD_RESPONSE`: a response cannot be read. `problem` completes "The response to …". */
export function badResponse(operationId: string, problem: string): CallError {
  return new CallError("BAD_RESPONSE", `The response to ${quote(operationId)} ${problem}.`, { operationId });
}

/** `PAYLOAD_TOO_LARGE`: a response exceeds a limit of the client. */
export function tooLarge(operationId: string, limit: "responseBytes" | "eventBytes", allowed: number): CallError {
  const message = `The response to ${quote(operationId)} is larger than ${allowed} bytes. If this is intended, raise limits.${limit}.`;
  return new CallError("PAYLOAD_TOO_LARGE", message, { limit, allowed });
}
