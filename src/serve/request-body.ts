import { BodyTooLarge, isNestedDeeper, readBody } from "../internal/body.ts";
import { CallError, type Limits, validationError } from "../operation/index.ts";
import type { FetchInfo } from "./server.ts";

const notStarted = { retryable: false, mayHaveRun: false } as const;

/** An error that has a status of its own. */
export class HTTPError extends Error {
  readonly status: number;
  readonly error: CallError;
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(status: number, error: CallError, headers?: Readonly<Record<string, string>>) {
    super(error.message);
    this.status = status;
    this.error = error;
    this.headers = headers;
  }
}

/**
 * Reads a JSON body as a string. Returns `undefined` if there is no body. Throws or rejects with an {@link HTTPError} if the
 * body has another type or exceeds the limit. Rejects with another error if the client disconnects.
 */
export function readJSONText(
  request: Request,
  info: FetchInfo | undefined,
  limits: Readonly<Required<Limits>>,
): Promise<string> | undefined {
  const headers = info?.headers ?? request.headers;
  const length = headers.get("content-length");
  if (length === "0") return undefined;
  const isMeasured = length !== null;
  if (isMeasured && !(Number(length) <= limits.requestBytes)) throw tooLarge(limits.requestBytes);
  // Reading the stream is slow in Node, and unnecessary if the length is known: the parser of the host enforces it.
  if (!isMeasured && request.body === null) return undefined;
  const type = headers.get("content-type");
  if (type !== "application/json" && !isJSONType(type)) throw unsupportedType();
  if (headers.get("content-encoding") !== null) throw unsupportedType();
  if (!isMeasured) return readUnmeasured(request, limits.requestBytes);
  return info?.readText === undefined ? request.text() : info.readText();
}

/** Parses a body. Returns `undefined` for an empty one. Throws if it is not JSON, or exceeds a limit. */
export function parseJSONBody(text: string, limits: Readonly<Required<Limits>>): unknown {
  if (text === "") return undefined;
  if (text.length > limits.requestBytes) throw tooLarge(limits.requestBytes);
  if (isNestedDeeper(text, limits.jsonDepth))
    throw invalidBody(`must not be nested more than ${limits.jsonDepth} levels deep`);
  try {
    return JSON.parse(text);
  } catch {
    throw invalidBody("must be valid JSON"); // Without a cause: the message of the parser quotes the input.
  }
}

/** Only UTF-8, and no other parameter: a list of types or a type with trailing characters is refused. */
function isJSONType(type: string | null): boolean {
  return type !== null && /^application\/json[ \t]*(?:;[ \t]*(?:charset="?utf-8"?[ \t]*)?)?$/i.test(type);
}

async function readUnmeasured(request: Request, limit: number): Promise<string> {
  try {
    return new TextDecoder().decode(await readBody(request, limit));
  } catch (error) {
    throw error instanceof BodyTooLarge ? tooLarge(limit) : error;
  }
}

function tooLarge(limit: number): HTTPError {
  const message = `The body is larger than ${limit} bytes. If this is intended, raise limits.requestBytes of the server.`;
  const details = { limit: "requestBytes", allowed: limit };
  return new HTTPError(413, new CallError("PAYLOAD_TOO_LARGE", message, details, notStarted));
}

function unsupportedType(): HTTPError {
  const message = "Send the body as Content-Type: application/json, in UTF-8 and without Content-Encoding.";
  return new HTTPError(415, new CallError("VALIDATION_ERROR", message, undefined, notStarted));
}

function invalidBody(message: string): CallError {
  return validationError("body", [{ path: "", message }]);
}
