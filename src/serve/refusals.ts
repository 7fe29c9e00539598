import { CallError, unavailable } from "../operation/inside.ts";

/** A request that is refused with a status of its own. Each server writes it in its own format. */
export class HTTPError extends Error {
  readonly kind = "refusal";
  readonly status: number;
  /** Code and message for the caller. It contains no secrets. */
  readonly error: CallError;
  /** Headers that the response must have. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, error: CallError, headers: Readonly<Record<string, string>> = {}) {
    super(error.message);
    this.status = status;
    this.error = error;
    this.headers = headers;
  }
}

/** An error of a request that did not reach an operation. */
export function notStarted(code: string, message: string, details?: unknown): CallError {
  return new CallError(code, message, details, { retryable: false, mayHaveRun: false });
}

/** `ACCESS_DENIED` for a request whose sender is refused. */
export function denied(message: string): CallError {
  return notStarted("ACCESS_DENIED", message);
}

/** `UNAVAILABLE` for a request to a server that was closed. */
export function serverClosed(): CallError {
  return unavailable("The server is closing and does not accept further requests.", { mayHaveRun: false });
}

/**
 * A server without authentication received a request from another machine, or for another host: a web page may have made
 * its name resolve to this machine (DNS rebinding).
 */
export function notLocal(): HTTPError {
  const message =
    "Without authentication, the server responds only to requests of its own machine to a host such as localhost.";
  return new HTTPError(403, denied(message));
}

/** A web page sent the request on behalf of its visitor. */
export function foreignPage(): HTTPError {
  const message =
    "Requests from web pages of other origins are refused. Allow the origin with the option cors of the server.";
  return new HTTPError(403, denied(message));
}

/** A body that exceeds the limit `requestBytes`. */
export function bodyTooLarge(allowed: number): HTTPError {
  const message = `The body is larger than ${allowed} bytes. If this is intended, raise limits.requestBytes of the server.`;
  return new HTTPError(413, notStarted("PAYLOAD_TOO_LARGE", message, { limit: "requestBytes", allowed }));
}

/** A body that the host of the server has read. */
export function bodyUsed(): HTTPError {
  const message =
    "The body was read before the request reached the server. Mount it before middleware that reads bodies.";
  return new HTTPError(500, notStarted("EXECUTION_ERROR", message));
}

/** A URL that exceeds the limit `urlLength`. */
export function urlTooLong(allowed: number): HTTPError {
  const message = `The URL is longer than ${allowed} characters. Send the input with POST.`;
  return new HTTPError(414, notStarted("VALIDATION_ERROR", message, { limit: "urlLength", allowed }));
}

/** A body that is not JSON in UTF-8. */
export function unsupportedType(): HTTPError {
  const message = "Send the body as Content-Type: application/json, in UTF-8 and without Content-Encoding.";
  return new HTTPError(415, notStarted("VALIDATION_ERROR", message));
}

/** A method that a path does not have. `allow` lists the others. */
export function wrongMethod(method: string, allow: string): HTTPError {
  const message = `${method} is not allowed for this path. It allows ${allow}.`;
  return new HTTPError(405, notStarted("WRONG_OPERATION_TYPE", message), { allow });
}
