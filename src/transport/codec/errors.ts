import { quote, truncate } from "../../internal/text.ts";
import { CallError } from "../../operation/index.ts";

/** `EXECUTION_ERROR`: a value cannot travel. `path` is a JSON pointer into the frame. */
export function notSendable(what: string, path: string, options: { mayHaveRun: boolean; cause?: unknown }): CallError {
  return new CallError(
    "EXECUTION_ERROR",
    `The value at ${quote(path)} cannot be sent: ${what}.`,
    { path: truncate(path, 400), reason: what },
    options,
  );
}

/** `PAYLOAD_TOO_LARGE`: a message is larger than the transport takes. */
export function payloadTooLarge(limit: number, mayHaveRun: boolean): CallError {
  return new CallError(
    "PAYLOAD_TOO_LARGE",
    `The message is larger than ${limit} bytes. If this is meant, raise limits.maxMessage at both ends, and the server's max_payload with NATS.`,
    { limit: "maxMessage", allowed: limit },
    { retryable: false, mayHaveRun },
  );
}

/** `BAD_RESPONSE`: what arrived is no frame. The text itself is foreign and never part of the message. */
export function badFrame(reason: string, cause?: unknown): CallError {
  return new CallError("BAD_RESPONSE", `Malformed frame: ${reason}.`, { reason }, { cause });
}

/** `BAD_RESPONSE` for a frame that nests deeper than is read from outside. */
export function tooDeep(): CallError {
  return badFrame("it is nested too deep");
}
