import type { ProtocolError } from "@modelcontextprotocol/client";
import { quote, truncate } from "../../../internal/text.ts";
import { CallError, type CallErrorOptions, isCallError } from "../../../operation/index.ts";
import { boundedData, isObject } from "../values.ts";
import type { SDK } from "./load-sdk.ts";
import { describeEnd, detailsOfEnd, type ProgramEnd } from "./program-end.ts";
import { redact } from "./secrets.ts";

/** What an error is about. */
export interface LinkErrorContext {
  sdk: SDK;
  /** Name of the server. */
  name: string;
  /** What was asked of it, such as `tool "add"`. */
  what: string;
  secrets: Iterable<string>;
  signal?: AbortSignal;
  /** In ms. */
  timeout?: number;
  /** How the server's program ended, once it has. */
  end?: ProgramEnd;
}

/** Errors of the network that come before anything was sent. */
const neverConnected = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/**
 * Turns what happened to the link, to HTTP or to the clock into a `CallError`. What the server itself answered, and
 * results that the protocol does not allow, stay the SDK's errors.
 */
export function toLinkError(error: unknown, context: LinkErrorContext): unknown {
  const { sdk, signal, timeout, what } = context;
  if (isCallError(error)) return named(error, context);
  if (error instanceof sdk.ProtocolError) {
    return isCallError(error.data) ? named(error.data, context) : withoutSecrets(error, context);
  }
  if (signal?.aborted) return make(context, "ABORTED", `${what} was aborted`, { cause: signal.reason });
  if (error instanceof sdk.SdkHttpError) return fromHTTP(error, error.status, textOf(error.data), context);
  if (error instanceof sdk.SdkError) {
    switch (error.code) {
      case sdk.SdkErrorCode.RequestTimeout:
        return make(
          context,
          "TIMEOUT",
          `${what} got no answer${timeout === undefined ? "" : ` within ${timeout} ms`}`,
          {
            cause: error,
            retryable: true,
          },
        );
      case sdk.SdkErrorCode.ConnectionClosed:
        return wentAway(context, `it went away before it answered ${what}`, { cause: error, retryable: true });
      case sdk.SdkErrorCode.NotConnected:
        return notConnected(error, context);
      case sdk.SdkErrorCode.ClientHttpUnexpectedContent:
        return make(context, "BAD_RESPONSE", `${what} was answered with neither JSON nor an event stream`, {
          cause: error,
        });
      case sdk.SdkErrorCode.EraNegotiationFailed:
        if (error.cause !== undefined && error.cause !== error) return toLinkError(error.cause, context);
        return make(context, "BAD_RESPONSE", "no protocol version in common was found", {
          cause: error,
          mayHaveRun: false,
        });
      default:
        return error;
    }
  }
  return fromOthers(error, context);
}

/** `UNAVAILABLE` or the like for a server that could not be reached or started. Always a `CallError`. */
export function toConnectError(error: unknown, context: LinkErrorContext): CallError {
  const known = toLinkError(error, context);
  if (isCallError(known)) return known;
  const message = known instanceof Error ? redact(truncate(known.message, 300), context.secrets) : "unknown error";
  return make(context, "BAD_RESPONSE", `the handshake failed: ${message}`, { cause: known, mayHaveRun: false });
}

/** A server may repeat what it was sent. */
function withoutSecrets(error: ProtocolError, { sdk, secrets }: LinkErrorContext): ProtocolError {
  const message = redact(error.message, secrets);
  const data = error.data === undefined ? undefined : JSON.stringify(error.data);
  const clean = data === undefined ? undefined : redact(data, secrets);
  if (message === error.message && clean === data) return error;
  return new sdk.ProtocolError(error.code, message, clean === data ? error.data : clean);
}

function fromOthers(error: unknown, context: LinkErrorContext): unknown {
  if (!(error instanceof Error)) return error;
  if (error instanceof context.sdk.SseError) {
    return error.code === undefined
      ? make(context, "UNAVAILABLE", "the event stream broke off", { cause: error, retryable: true })
      : fromHTTP(error, error.code, undefined, context);
  }
  if (isDenial(error, context.sdk)) return denied(error, context);
  // The SDK has no other sign of being closed, nor of the status that the older transport got.
  if (error.message === "Not connected") return notConnected(error, context);
  const status = /^Error POSTing to endpoint \(HTTP (\d{3})\)/.exec(error.message)?.[1];
  if (status !== undefined) return fromHTTP(error, Number(status), undefined, context);
  if (error instanceof SyntaxError) {
    return make(context, "BAD_RESPONSE", `${context.what} was answered with broken JSON`, { cause: error });
  }
  if (error instanceof TypeError && isNetworkFailure(error)) return unreachable(error, context);
  return error;
}

function isDenial(error: Error, sdk: SDK): boolean {
  return (
    error instanceof sdk.UnauthorizedError ||
    error instanceof sdk.OAuthError ||
    error.name === "InsufficientScopeError" ||
    error.name === "InsecureTokenEndpointError" ||
    error.name === "IssuerMismatchError"
  );
}

function isNetworkFailure(error: TypeError): boolean {
  return error.cause instanceof Error || /fetch failed|failed to fetch|network|load failed/i.test(error.message);
}

function unreachable(error: TypeError, context: LinkErrorContext): CallError {
  const { code } = (error.cause ?? {}) as { code?: unknown };
  const known = typeof code === "string" ? code : undefined;
  return make(
    context,
    "UNAVAILABLE",
    `it cannot be reached${known === undefined ? "" : ` (${known})`}`,
    { cause: error, retryable: true, mayHaveRun: known === undefined || !neverConnected.has(known) },
    known === undefined ? {} : { code: known },
  );
}

function fromHTTP(
  error: Error,
  status: number | undefined,
  text: string | undefined,
  context: LinkErrorContext,
): Error {
  const answered = jsonRPCErrorOf(text);
  if (answered !== undefined && status !== 401 && status !== 403) {
    return withoutSecrets(new context.sdk.ProtocolError(answered.code, answered.message, answered.data), context);
  }
  if (status === 401 || status === 403) return denied(error, context, status);
  const shown = text === undefined ? "" : redact(text.trim(), context.secrets).slice(0, 200);
  const details = { status, ...(shown === "" ? {} : { body: shown }) };
  if (status === 429 || status === 502 || status === 503 || status === 504) {
    const options = { cause: error, retryable: true, mayHaveRun: status !== 429 };
    return make(context, "UNAVAILABLE", `${context.what} was answered with HTTP ${status}`, options, details);
  }
  const refused = status !== undefined && status < 500;
  const why = status !== undefined && status >= 300 && status < 400 ? ", a redirect that is not followed" : "";
  return make(
    context,
    "BAD_RESPONSE",
    `${context.what} was answered with HTTP ${status}${why}`,
    { cause: error, mayHaveRun: !refused },
    details,
  );
}

function denied(error: Error, context: LinkErrorContext, status?: number): CallError {
  const hint = status === 403 ? "the credentials do not suffice" : "it asks for credentials, or refused those it got";
  return make(
    context,
    "UPSTREAM_DENIED",
    `${hint}. Check "auth" and "headers"`,
    { cause: error, mayHaveRun: false },
    status === undefined ? {} : { status },
  );
}

function notConnected(error: Error, context: LinkErrorContext): CallError {
  return wentAway(context, `it was not connected when ${context.what} was asked for`, {
    cause: error,
    retryable: true,
    mayHaveRun: false,
  });
}

/** `UNAVAILABLE` with how the server's program ended, if it did. */
export function wentAway(
  context: Pick<LinkErrorContext, "name" | "end">,
  message: string,
  options: CallErrorOptions,
): CallError {
  const { end } = context;
  if (end === undefined) return make(context, "UNAVAILABLE", message, options);
  return make(context, "UNAVAILABLE", `${message}. ${describeEnd(end)}`, options, detailsOfEnd(end));
}

/** `UNAVAILABLE`: the server failed, and can be started again in `wait` ms; with `undefined` only by its operator. */
export function serverFailed(name: string, cause: CallError | undefined, wait: number | undefined): CallError {
  const advice =
    wait === undefined
      ? 'it failed, and "restart" does not let it be restarted. Call reconnect() to start it'
      : `it failed. The first call after ${Math.ceil(wait)} ms starts it again`;
  const { exitCode, signal } = isObject(cause?.details) ? cause.details : {};
  return make(
    { name },
    "UNAVAILABLE",
    cause === undefined ? advice : `${advice}. ${cause.message.replace(/\.$/, "")}`,
    { cause, retryable: wait !== undefined, mayHaveRun: false },
    {
      ...(exitCode !== undefined && { exitCode, signal }),
      ...(wait !== undefined && { retryAfter: Math.ceil(wait) }),
    },
  );
}

/** Error for a failed or malformed response to a request for the tools. Always a `CallError`. */
export function toListError(error: unknown, context: Pick<LinkErrorContext, "name">): CallError {
  if (isCallError(error)) return error;
  const message = truncate(error instanceof Error ? error.message : String(error), 300);
  const { code } = error as { code?: unknown };
  if (typeof code !== "number") {
    return make(context, "BAD_RESPONSE", `the list of tools cannot be read: ${message}`, {
      cause: error,
      mayHaveRun: false,
    });
  }
  const details = { mcp: { code, ...boundedData(error as { data?: unknown }) } };
  const refused = `the request for its list of tools failed: ${message}`;
  return make(context, "EXECUTION_ERROR", refused, { cause: error, mayHaveRun: false }, details);
}

function jsonRPCErrorOf(text: string | undefined): { code: number; message: string; data?: unknown } | undefined {
  if (text === undefined || !text.startsWith("{")) return undefined;
  try {
    const body: unknown = JSON.parse(text);
    const error = isObject(body) && body["jsonrpc"] === "2.0" ? body["error"] : undefined;
    if (!isObject(error) || typeof error["code"] !== "number" || typeof error["message"] !== "string") return undefined;
    return { code: error["code"], message: error["message"], data: error["data"] };
  } catch {
    return undefined;
  }
}

function textOf(data: unknown): string | undefined {
  const text = isObject(data) ? data["text"] : undefined;
  return typeof text === "string" ? text : undefined;
}

/** The same error, with the server's name in its message and details. */
function named(error: CallError, context: LinkErrorContext): CallError {
  const { code, message, details, retryable, mayHaveRun } = error;
  if (isObject(details) && details["server"] === context.name) return error;
  const more = isObject(details) ? details : {};
  return new CallError(
    code,
    `MCP server ${quote(context.name)}: ${message}`,
    { server: context.name, ...more },
    { cause: error.cause ?? error, retryable, mayHaveRun },
  );
}

function make(
  context: Pick<LinkErrorContext, "name">,
  code: string,
  message: string,
  options: CallErrorOptions,
  details: Record<string, unknown> = {},
): CallError {
  return new CallError(
    code,
    `MCP server ${quote(context.name)}: ${message}.`,
    { server: context.name, ...details },
    options,
  );
}
