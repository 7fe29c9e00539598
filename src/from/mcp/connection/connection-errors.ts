import type { ProtocolError } from "@modelcontextprotocol/client";
import { getOwn, isObject } from "../../../internal/objects.ts";
import { redact } from "../../../internal/secrets.ts";
import { quote, truncate } from "../../../internal/text.ts";
import { CallError, type CallErrorOptions, isCallError } from "../../../operation/index.ts";
import { findNetworkFailure } from "../../../transport/network-error.ts";
import { describeEnd, type ProgramEnd, toEndDetails } from "./program-output.ts";
import type { SDK } from "./settings.ts";

/** The first request to a server, as part of a sentence. It runs no tool. */
export const handshake = "the handshake";

/** Facts about a failed request, for its error. */
export interface ConnectionErrorContext {
  sdk: SDK;
  /** Name of the server. */
  name: string;
  /** Address of a server over HTTP. */
  url?: string | undefined;
  /** The request as part of a sentence, such as `the call of tool "add"`. */
  what: string;
  secrets: Iterable<string>;
  signal?: AbortSignal;
  /** Time limit of the request, in ms. */
  timeout?: number;
  /** How the server's program ended. Absent while it runs. */
  programEnd?: ProgramEnd;
}

/** Creates a `CallError` with the server's name in its details. */
export function serverError(
  name: string,
  code: string,
  message: string,
  options: CallErrorOptions = {},
  details: Record<string, unknown> = {},
): CallError {
  return new CallError(code, message, { server: name, ...details }, options);
}

/**
 * Converts connection errors, HTTP errors and timeouts into a `CallError`. Errors that the server
 * returned, and results that violate the protocol, are returned unchanged as errors of the SDK.
 */
export function toConnectionError(error: unknown, context: ConnectionErrorContext): unknown {
  const { sdk, name, signal, timeout, what } = context;
  const server = `the MCP server ${quote(name)}`;
  if (isCallError(error)) return withServer(error, name);
  if (error instanceof sdk.ProtocolError) {
    return isCallError(error.data) ? withServer(error.data, name) : withoutSecrets(error, context);
  }
  if (signal?.aborted) {
    return serverError(name, "ABORTED", `The caller aborted ${what} before ${server} responded.`, {
      cause: signal.reason,
    });
  }
  if (error instanceof sdk.SdkHttpError) return fromStatus(error, error.status, bodyOf(error), context);
  if (!(error instanceof sdk.SdkError)) return fromOtherError(error, context);
  switch (error.code) {
    case sdk.SdkErrorCode.RequestTimeout: {
      const limit = timeout === undefined ? "" : ` within ${timeout} ms`;
      const options = { cause: error, retryable: true };
      return serverError(name, "TIMEOUT", `The MCP server ${quote(name)} did not respond to ${what}${limit}.`, options);
    }
    case sdk.SdkErrorCode.ConnectionClosed:
      return connectionLost(context, `The connection to ${server} was lost before it responded to ${what}.`, {
        cause: error,
        retryable: true,
      });
    case sdk.SdkErrorCode.NotConnected:
      return notConnected(error, context);
    case sdk.SdkErrorCode.ClientHttpUnexpectedContent:
      return serverError(
        name,
        "BAD_RESPONSE",
        `The response of ${server} to ${what} is neither JSON nor an event stream.`,
        { cause: error },
      );
    case sdk.SdkErrorCode.EraNegotiationFailed:
      if (error.cause !== undefined && error.cause !== error) return toConnectionError(error.cause, context);
      return serverError(name, "BAD_RESPONSE", `No protocol version is supported by both ${server} and this client.`, {
        cause: error,
        mayHaveRun: false,
      });
    default:
      return error;
  }
}

/** Converts the failure to reach or start a server into a `CallError`. */
export function toConnectError(error: unknown, context: ConnectionErrorContext): CallError {
  const known = toConnectionError(error, context);
  if (isCallError(known)) return known;
  const message = known instanceof Error ? redact(truncate(known.message, 300), context.secrets) : "unknown error";
  const options = { cause: known, mayHaveRun: false };
  return serverError(
    context.name,
    "BAD_RESPONSE",
    `The handshake with the MCP server ${quote(context.name)} failed: ${message}.`,
    options,
  );
}

/** Removes secrets from an error of the server, which may contain parts of the request. */
function withoutSecrets(error: ProtocolError, { sdk, secrets }: ConnectionErrorContext): ProtocolError {
  const message = redact(error.message, secrets);
  const data = error.data === undefined ? undefined : JSON.stringify(error.data);
  const redacted = data === undefined ? undefined : redact(data, secrets);
  if (message === error.message && redacted === data) return error;
  return new sdk.ProtocolError(error.code, message, redacted === data ? error.data : redacted);
}

function fromOtherError(error: unknown, context: ConnectionErrorContext): unknown {
  const { sdk, name, what } = context;
  if (!(error instanceof Error)) return error;
  if (error instanceof sdk.SseError) {
    return error.code === undefined
      ? serverError(name, "UNAVAILABLE", `The event stream of the MCP server ${quote(name)} was interrupted.`, {
          cause: error,
          retryable: true,
        })
      : fromStatus(error, error.code, undefined, context);
  }
  if (isDenial(error, sdk)) return denied(error, name);
  // The SDK identifies these two cases only by their message.
  if (error.message === "Not connected") return notConnected(error, context);
  const status = /^Error POSTing to endpoint \(HTTP (\d{3})\)/.exec(error.message)?.[1];
  if (status !== undefined) return fromStatus(error, Number(status), undefined, context);
  if (error instanceof SyntaxError) {
    return serverError(
      name,
      "BAD_RESPONSE",
      `The response of the MCP server ${quote(name)} to ${what} is malformed JSON.`,
      { cause: error },
    );
  }
  if (error.name === "ZodError") return invalidMessage(error, context); // The SDK contains Zod.
  return error instanceof TypeError && isNetworkFailure(error) ? unreachable(error, context) : error;
}

function invalidMessage(cause: Error, { name, url, what }: ConnectionErrorContext): CallError {
  const advice = url === undefined ? "" : " Check that its URL is that of an MCP server.";
  const message = `The response of the MCP server ${quote(name)} to ${what} does not follow the protocol.${advice}`;
  return serverError(name, "BAD_RESPONSE", message, { cause, mayHaveRun: what !== handshake });
}

function isDenial(error: Error, sdk: SDK): boolean {
  return (
    error instanceof sdk.UnauthorizedError ||
    error instanceof sdk.OAuthError ||
    ["InsufficientScopeError", "InsecureTokenEndpointError", "IssuerMismatchError"].includes(error.name)
  );
}

function isNetworkFailure(error: TypeError): boolean {
  return error.cause instanceof Error || /fetch failed|failed to fetch|network|load failed/i.test(error.message);
}

/** The message contains only the origin, because the rest of a URL may contain a secret. */
function unreachable(error: TypeError, { name, url }: ConnectionErrorContext): CallError {
  const failure = findNetworkFailure(error);
  const place = url === undefined ? "" : ` at ${new URL(url).origin}`;
  const reason = failure === undefined ? "" : ` (${failure.code})`;
  const options = { cause: error, retryable: true, mayHaveRun: failure?.kind !== "connect" && failure?.kind !== "tls" };
  const details = failure && { code: failure.code };
  return serverError(
    name,
    "UNAVAILABLE",
    `The MCP server ${quote(name)} cannot be reached${place}${reason}.`,
    options,
    details,
  );
}

function fromStatus(
  error: Error,
  status: number | undefined,
  body: string | undefined,
  context: ConnectionErrorContext,
): Error {
  const { name, what, secrets, sdk } = context;
  if (status === 401 || status === 403) return denied(error, name, status);
  const rpcError = readRPCError(body);
  if (rpcError !== undefined) {
    return withoutSecrets(new sdk.ProtocolError(rpcError.code, rpcError.message, rpcError.data), context);
  }
  const shown = body === undefined ? "" : redact(body.trim(), secrets).slice(0, 200);
  const details = { status, ...(shown === "" ? {} : { body: shown }) };
  const isRedirect = status !== undefined && status >= 300 && status < 400;
  const hint = isRedirect ? " Redirects are not followed." : "";
  const message = `The MCP server ${quote(name)} responded to ${what} with HTTP ${status}.${hint}`;
  if (status === 429 || status === 502 || status === 503 || status === 504) {
    const options = { cause: error, retryable: true, mayHaveRun: status !== 429 };
    return serverError(name, "UNAVAILABLE", message, options, details);
  }
  const options = { cause: error, mayHaveRun: status === undefined || status >= 500 };
  return serverError(name, "BAD_RESPONSE", message, options, details);
}

function denied(error: Error, name: string, status?: number): CallError {
  const server = `The MCP server ${quote(name)}`;
  const message =
    status === 403
      ? `${server} refused the request, because the credentials are not sufficient. Check "auth" and "headers".`
      : `${server} requires credentials, or refused those it received. Check "auth" and "headers".`;
  const details = status === undefined ? {} : { status };
  return serverError(name, "UPSTREAM_DENIED", message, { cause: error, mayHaveRun: false }, details);
}

function notConnected(error: Error, context: ConnectionErrorContext): CallError {
  const options = { cause: error, retryable: true, mayHaveRun: false };
  const message = `The MCP server ${quote(context.name)} was not connected when ${context.what} was sent.`;
  return connectionLost(context, message, options);
}

/** `UNAVAILABLE`. If the server's program has ended, the message also describes how. */
export function connectionLost(
  { name, programEnd }: Pick<ConnectionErrorContext, "name" | "programEnd">,
  message: string,
  options: CallErrorOptions,
): CallError {
  if (programEnd === undefined) return serverError(name, "UNAVAILABLE", message, options);
  const details = toEndDetails(programEnd);
  return serverError(name, "UNAVAILABLE", `${message} ${describeEnd(programEnd)}.`, options, details);
}

/** `UNAVAILABLE` for a failed server. It can be restarted in `wait` ms, or only by `reconnect()` if that is `undefined`. */
export function serverFailed(name: string, cause: CallError | undefined, wait: number | undefined): CallError {
  const server = `The MCP server ${quote(name)}`;
  const message =
    wait === undefined
      ? `${server} has failed, and "restart" does not allow a restart. Call reconnect() to start it.`
      : `${server} has failed. The first call after ${Math.ceil(wait)} ms starts it again.`;
  const { exitCode, signal } = isObject(cause?.details) ? cause.details : {};
  return serverError(
    name,
    "UNAVAILABLE",
    cause === undefined ? message : `${message} ${cause.message}`,
    { cause, retryable: wait !== undefined, mayHaveRun: false },
    {
      ...(exitCode !== undefined && { exitCode, signal }),
      ...(wait !== undefined && { retryAfter: Math.ceil(wait) }),
    },
  );
}

/** Returns the error of JSON-RPC in the body of a response that is not successful. */
export function readRPCError(text: string | undefined): { code: number; message: string; data?: unknown } | undefined {
  if (text === undefined || !text.startsWith("{")) return undefined;
  try {
    const body: unknown = JSON.parse(text);
    const error = isObject(body) && body["jsonrpc"] === "2.0" ? body["error"] : undefined;
    if (!isObject(error)) return undefined;
    const { code, message, data } = error;
    return typeof code === "number" && typeof message === "string" ? { code, message, data } : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the body of the response that an error of the SDK describes. */
export function bodyOf(error: unknown): string | undefined {
  const text = getOwn(getOwn(error, "data"), "text");
  return typeof text === "string" ? text : undefined;
}

/** Returns the error with the server's name in its message and details. */
function withServer(error: CallError, name: string): CallError {
  const { code, message, cause = error, retryable, mayHaveRun } = error;
  const details = isObject(error.details) ? error.details : {};
  if (details["server"] === name) return error;
  const named = `The MCP server ${quote(name)} failed. ${message}`;
  return new CallError(code, named, { server: name, ...details }, { cause, retryable, mayHaveRun });
}
