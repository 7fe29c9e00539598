import { isObject, type JSONObject } from "../../internal/objects.ts";
import { CallError, validationError } from "../../operation/inside.ts";
import { parseJSON } from "../request-body.ts";

/** The headers of a request. */
type HeaderReader = Pick<Headers, "get">;

/** Maximum length of the header with metadata, in characters. */
const maxMetadataLength = 8 * 1024;

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
  for (const name of traceparent === null ? [] : ["traceparent", "tracestate"]) {
    const value = headers.get(name);
    if (value !== null) metadata[name] = value;
  }
  return metadata;
}

function parseMetadata(text: string): JSONObject {
  const label = "header Operation-Metadata";
  const metadata = text.length <= maxMetadataLength ? parseJSON(text, 64, label) : undefined;
  if (isObject(metadata)) return metadata;
  const message = `must be a JSON object of at most ${maxMetadataLength} characters`;
  throw validationError(label, [{ path: "", message }]);
}

/** The client has disconnected in the middle of the body. */
export function bodyLost(cause: unknown): CallError {
  return clientLeft("The client disconnected before it had sent the whole body.", cause);
}

/** The client has disconnected before the operation was called. */
export function clientLeft(message: string, cause?: unknown): CallError {
  return new CallError("ABORTED", message, undefined, { cause, mayHaveRun: false });
}
