import type { ProtocolError } from "@modelcontextprotocol/client";
import { findNetworkFailure } from "../../../internal/network-error.ts";
import { isObject } from "../../../internal/objects.ts";
import { redact } from "../../../internal/secrets.ts";
import { quote, truncate } from "../../../internal/text.ts";
import { CallError, type CallErrorOptions, isCallError } from "../../../operation/index.ts";
import { describeEnd, type ProgramEnd, toEndDetails } from "./program-output.ts";
import type { SDK } from "./settings.ts";

/** What an error of a request is made of. */
export interface ConnectionErrorContext {
  sdk: SDK;
  /** Name of the server. */
  name: string;
  /** Address of a server over HTTP. */
  url?: string | undefined;
  /** Subject of the message, such as `tool "add"`. */
  what: string;
  secrets: Iterable<string>;
  signal?: AbortSignal;
  /** In ms. */
  timeout?: number;
  /** How the server's program ended, once it has. */
  programEnd?: ProgramEnd;
}

/** A `CallError` about a server, with the server's name in its message and details. `problem` has no full stop. */
export function serverError(
  name: string,
  code: string,
  problem: string,
  options: CallErrorOptions = {},
  details: Record<string, unknown> = {},
): CallError {
  return new CallError(code, `MCP server ${quote(name)}: ${problem}.`, { server: name, ...details }, options);
}

/**
 * Converts errors of the connection, of HTTP and of time limits into a `CallError`. Errors that the server responded
 * with, and results that the protocol does not allow, stay errors of the SDK.
 */
export function toConnectionError(error: unknown, context: ConnectionErrorContext): unknown {
  const { sdk, name, signal, timeout, what } = context;
  if (isCallError(error)) return withServer(error, name);
  if (error instanceof sdk.ProtocolError) {
    return isCallError(error.data) ? withServer(error.data, name) : withoutSecrets(error, context);
  }
  if (signal?.aborted) return serverError(name, "ABORTED", `${what} was aborted`, { cause: signal.reason });
  if (error instanceof sdk.SdkHttpError) return fromStatus(error, error.status, bodyOf(error.data), context);
  if (!(error instanceof sdk.SdkError)) return fromOtherError(error, context);
  switch (error.code) {
    case sdk.SdkErrorCode.RequestTimeout: {
      const limit = timeout === undefined ? "" : ` within ${timeout} ms`;
      const options = { cause: error, retryable: true };
      return serverError(name, "TIMEOUT", `${what} did not respond${limit}`, options);
    }
    case sdk.SdkErrorCode.ConnectionClosed:
      return connectionLost(context, `the connection was lost before ${what} responded`, {
        cause: error,
        retryable: true,
      });
    case sdk.SdkErrorCode.NotConnected:
      return notConnected(error, context);
    case sdk.SdkErrorCode.ClientHttpUnexpectedContent:
      return serverError(name, "BAD_RESPONSE", `${what} returned neither JSON nor an event stream`, { cause: error });
    case sdk.SdkErrorCode.EraNegotiationFailed:
      if (error.cause !== undefined && error.cause !== error) return toConnectionError(error.cause, context);
      return serverError(name, "BAD_RESPONSE", "it supports no protocol version of this client", {
        cause: error,
        mayHaveRun: false,
      });
    default:
      return error;
  }
}

/** Error for a server that could not be reached or started. Always a `CallError`. */
export function toConnectError(error: unknown, context: ConnectionErrorContext): CallError {
  const known = toConnectionError(error, context);
  if (isCallError(known)) return known;
  const message = known instanceof Error ? redact(truncate(known.message, 300), context.secrets) : "unknown error";
  const options = { cause: known, mayHaveRun: false };
  return serverError(context.name, "BAD_RESPONSE", `the handshake failed: ${message}`, options);
}

/** Removes secrets from an error of the server, which may repeat the request. */
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
      ? serverError(name, "UNAVAILABLE", "the event stream broke off", { cause: error, retryable: true })
      : fromStatus(error, error.code, undefined, context);
  }
  if (isDenial(error, sdk)) return denied(error, name);
  // The SDK reports these two cases only by a message.
  if (error.message === "Not connected") return notConnected(error, context);
  const status = /^Error POSTing to endpoint \(HTTP (\d{3})\)/.exec(error.message)?.[1];
  if (status !== undefined) return fromStatus(error, Number(status), undefined, context);
  if (error instanceof SyntaxError) {
    return serverError(name, "BAD_RESPONSE", `${what} returned malformed JSON`, { cause: error });
  }
  return error instanceof TypeError && isNetworkFailure(error) ? unreachable(error, context) : error;
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

/** The message has the origin only: the rest of an address may contain a secret. */
function unreachable(error: TypeError, { name, url }: ConnectionErrorContext): CallError {
  const failure = findNetworkFailure(error);
  const place = url === undefined ? "" : ` at ${new URL(url).origin}`;
  const reason = failure === undefined ? "" : ` (${failure.code})`;
  const options = { cause: error, retryable: true, mayHaveRun: failure === undefined || failure.kind === "lost" };
  const details = failure && { code: failure.code };
  return serverError(name, "UNAVAILABLE", `it cannot be reached${place}${reason}`, options, details);
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
  if (status === 429 || status === 502 || status === 503 || status === 504) {
    const options = { cause: error, retryable: true, mayHaveRun: status !== 429 };
    return serverError(name, "UNAVAILABLE", `${what} returned HTTP ${status}`, options, details);
  }
  const isRedirect = status !== undefined && status >= 300 && status < 400;
  const problem = `${what} returned HTTP ${status}${isRedirect ? ", a redirect that is not followed" : ""}`;
  const options = { cause: error, mayHaveRun: status === undefined || status >= 500 };
  return serverError(name, "BAD_RESPONSE", problem, options, details);
}

function denied(error: Error, name: string, status?: number): CallError {
  const reason =
    status === 403 ? "the credentials are not sufficient" : "it requires credentials, or refused those it received";
  const problem = `${reason}. Check "auth" and "headers"`;
  const details = status === undefined ? {} : { status };
  return serverError(name, "UPSTREAM_DENIED", problem, { cause: error, mayHaveRun: false }, details);
}

function notConnected(error: Error, context: ConnectionErrorContext): CallError {
  const options = { cause: error, retryable: true, mayHaveRun: false };
  return connectionLost(context, `it was not connected when ${context.what} was requested`, options);
}

/** `UNAVAILABLE`, with the end of the server's program if it has ended. */
export function connectionLost(
  { name, programEnd }: Pick<ConnectionErrorContext, "name" | "programEnd">,
  problem: string,
  options: CallErrorOptions,
): CallError {
  if (programEnd === undefined) return serverError(name, "UNAVAILABLE", problem, options);
  const details = toEndDetails(programEnd);
  return serverError(name, "UNAVAILABLE", `${problem}. ${describeEnd(programEnd)}`, options, details);
}

/** `UNAVAILABLE` for a failed server. It can be restarted in `wait` ms; with `undefined` only by `reconnect()`. */
export function serverFailed(name: string, cause: CallError | undefined, wait: number | undefined): CallError {
  const advice =
    wait === undefined
      ? 'it failed, and "restart" does not allow a restart. Call reconnect() to start it'
      : `it failed. The first call after ${Math.ceil(wait)} ms starts it again`;
  const { exitCode, signal } = isObject(cause?.details) ? cause.details : {};
  return serverError(
    name,
    "UNAVAILABLE",
    cause === undefined ? advice : `${advice}. ${cause.message.replace(/\.$/, "")}`,
    { cause, retryable: wait !== undefined, mayHaveRun: false },
    {
      ...(exitCode !== undefined && { exitCode, signal }),
      ...(wait !== undefined && { retryAfter: Math.ceil(wait) }),
    },
  );
}

function readRPCError(text: string | undefined): { code: number; message: string; data?: unknown } | undefined {
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

function bodyOf(data: unknown): string | undefined {
  const text = isObject(data) ? data["text"] : undefined;
  return typeof text === "string" ? text : undefined;
}

/** The same error, with the server's name in its message and details. */
function withServer(error: CallError, name: string): CallError {
  const { code, message, cause = error, retryable, mayHaveRun } = error;
  const details = isObject(error.details) ? error.details : {};
  if (details["server"] === name) return error;
  const named = `MCP server ${quote(name)}: ${message}`;
  return new CallError(code, named, { server: name, ...details }, { cause, retryable, mayHaveRun });
}
