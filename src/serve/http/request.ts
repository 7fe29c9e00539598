import { isNestedDeeper } from "../../internal/body.ts";
import { isObject, type JSONObject } from "../../internal/objects.ts";
import { CallError, validationError } from "../../operation/index.ts";
import { HTTPError } from "../request-body.ts";

/** Media type of a response with the whole envelope. */
export const envelopeType = "application/vnd.alkdev.envelope+json";

/** The headers of a request. */
type HeaderReader = Pick<Headers, "get">;

/** Maximum length of the header with metadata, in characters. */
const maxMetadataLength = 8 * 1024;
/** Maximum length of a header of the trace context, in characters. */
const maxTraceLength = 512;

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

const notStarted = { retryable: false, mayHaveRun: false } as const;

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
