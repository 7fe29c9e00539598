import { BodyTooLarge, isNestedDeeper, readBody } from "../../internal/body.ts";
import { isObject, type JSONObject } from "../../internal/objects.ts";
import { CallError, type Limits, validationError } from "../../operation/index.ts";

/** Media type of a response with the whole envelope. */
export const envelopeType = "application/vnd.alkdev.envelope+json";

/** The headers of a request. */
type HeaderReader = Pick<Headers, "get">;

/** Maximum length of the header with metadata, in characters. */
const maxMetadataLength = 8 * 1024;
/** Maximum length of a header of the trace context, in characters. */
const maxTraceLength = 512;

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

/** Returns the part of a URL from its path on, without parsing the rest. */
export function findPathStart(url: string): number {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  return start === -1 ? url.length : start;
}

/** Returns the time that `Prefer: wait=5` allows, in ms; `undefined` without it. */
export function readWait(headers: HeaderReader): number | undefined {
  const prefer = headers.get("prefer");
  const seconds = prefer === null ? undefined : /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i.exec(prefer)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

/**
 * Returns the metadata of a call: the JSON object in the header `Operation-Metadata`, and the trace context. Throws
 * `VALIDATION_ERROR` if the header is malformed.
 */
export function readMetadata(headers: HeaderReader): JSONObject | undefined {
  const given = headers.get("operation-metadata");
  const traceparent = headers.get("traceparent");
  if (given === null && traceparent === null) return undefined;
  const metadata = given === null ? {} : parseMetadata(given);
  if (traceparent !== null && traceparent.length <= maxTraceLength) {
    const tracestate = headers.get("tracestate");
    metadata["traceparent"] = traceparent;
    if (tracestate !== null && tracestate.length <= maxTraceLength) metadata["tracestate"] = tracestate;
  }
  return metadata;
}

function parseMetadata(text: string): JSONObject {
  let metadata: unknown;
  try {
    metadata = text.length <= maxMetadataLength && !isNestedDeeper(text, 64) ? JSON.parse(text) : undefined;
  } catch {
    // The error below reports it.
  }
  if (isObject(metadata)) return metadata;
  const message = `must be a JSON object of at most ${maxMetadataLength} characters`;
  throw validationError("header Operation-Metadata", [{ path: "", message }]);
}

/**
 * Reads a JSON body as a string. Returns `undefined` if there is no body. Throws or rejects with an {@link HTTPError} if the
 * body has another type or exceeds the limit. Rejects with another error if the client disconnects.
 */
export function readJSONText(
  request: Request,
  headers: HeaderReader,
  limits: Readonly<Required<Limits>>,
): Promise<string> | undefined {
  const length = headers.get("content-length");
  if (length === "0") return undefined;
  const isMeasured = length !== null;
  if (isMeasured && !(Number(length) <= limits.requestBytes)) throw tooLarge(limits.requestBytes);
  // Reading the stream is slow in Node, and unnecessary if the length is known: the parser of the host enforces it.
  if (!isMeasured && request.body === null) return undefined;
  const type = headers.get("content-type");
  if (type !== "application/json" && !isJSONType(type)) throw unsupportedType();
  if (headers.get("content-encoding") !== null) throw unsupportedType();
  return isMeasured ? request.text() : readUnmeasured(request, limits.requestBytes);
}

/** Parses a body. Returns `undefined` for an empty one. Throws if it is not JSON, or exceeds a limit. */
export function parseJSONBody(text: string, limits: Readonly<Required<Limits>>): unknown {
  if (text === "") return undefined;
  if (text.length > limits.requestBytes) throw tooLarge(limits.requestBytes);
  if (isNestedDeeper(text, limits.jsonDepth)) throw invalidBody(`is nested more than ${limits.jsonDepth} levels deep`);
  try {
    return JSON.parse(text);
  } catch {
    throw invalidBody("is not valid JSON"); // Without a cause: the message of the parser quotes the input.
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

const notStarted = { retryable: false, mayHaveRun: false } as const;

function tooLarge(limit: number): HTTPError {
  const message = `The body is larger than ${limit} bytes. If this is intended, raise limits.requestBytes of the server.`;
  const details = { limit: "requestBytes", allowed: limit };
  return new HTTPError(413, new CallError("PAYLOAD_TOO_LARGE", message, details, notStarted));
}

function unsupportedType(): HTTPError {
  const message = "Send the body as Content-Type: application/json, in UTF-8 and without Content-Encoding.";
  return new HTTPError(415, new CallError("VALIDATION_ERROR", message, undefined, notStarted));
}

/** The URL of a request is too long. */
export function urlTooLong(limit: number): HTTPError {
  const message = `The URL is longer than ${limit} characters. Send the input with POST.`;
  return new HTTPError(
    414,
    new CallError("VALIDATION_ERROR", message, { limit: "urlLength", allowed: limit }, notStarted),
  );
}

/** The client has disconnected in the middle of the body. */
export function bodyLost(cause: unknown): CallError {
  const message = "The client disconnected before it had sent the whole body.";
  return new CallError("ABORTED", message, undefined, { cause, mayHaveRun: false });
}

function invalidBody(message: string): CallError {
  return validationError("body", [{ path: "", message }]);
}
