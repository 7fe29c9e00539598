import type { OutcomeFilter } from "../call/inside.ts";
import { toJSONSafe } from "../internal/json-safe.ts";
import { logger, warnVisibly } from "../internal/log.ts";
import { getOwn, isObject, type JSONObject } from "../internal/objects.ts";
import { isSecretName } from "../internal/secrets.ts";
import {
  CallError,
  errorCodes,
  isCallError,
  mapError,
  type OperationSpec,
  type ResponseMeta,
} from "../operation/index.ts";
import { coreOf, forwardingOf, type OperationRegistry } from "../registry/inside.ts";

const log = logger("serve");

/** Headers of every response to a call: it is not cached, and a browser does not display it. */
export const safetyHeaders = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox",
  "cache-control": "no-store",
} as const;

/** A call whose error leaves the server. */
export interface FailedCall {
  readonly operationId: string;
  readonly requestId: string;
  /** The handler of the operation, if it was found. */
  readonly handler?: object | undefined;
  /** Whether the messages of unexpected errors are sent. */
  readonly exposeErrors: boolean;
}

/** Maximum size of the body of a failed response of an imported API, in characters or bytes. */
const maxForeignBody = 16 * 1024;

/**
 * Returns the error that callers of a server receive. The message of an error that was not thrown as a `CallError` is
 * logged and replaced, because it may describe the internals of the operation. Of failures of an imported API, headers with
 * secrets are withheld, and of those of its server (5xx) everything but the status and the message.
 */
export function toPublicError(error: CallError, call: FailedCall): CallError {
  const isHidden = !call.exposeErrors && isUnexpected(error, call.handler);
  const safeDetails = error.details === undefined ? undefined : toJSONSafe(error.details);
  const isWithheld = withholdForeign(safeDetails);
  if (!isHidden && !isWithheld) return error;
  const { code, retryable, mayHaveRun } = error;
  const { operationId, requestId } = call;
  if (isHidden) {
    const properties = { operationId, requestId, error: error.cause ?? error };
    warnVisibly(log, [{ message: "{operationId} failed ({requestId}): {error}", properties }], "error");
  }
  const message = isHidden ? `The operation failed. Request id: ${requestId}.` : error.message;
  return new CallError(code, message, isWithheld ? safeDetails : error.details, { retryable, mayHaveRun });
}

/** Returns whether an error was created from one that is not a `CallError`, in this process or in that of a peer. */
function isUnexpected(error: CallError, handler: object | undefined): boolean {
  if (error.code !== "EXECUTION_ERROR" && error.code !== "UNKNOWN_ERROR") return false;
  if ("cause" in error && !isCallError(error.cause)) return mapError(error.cause).message === error.message;
  // Peers send errors without their cause. Those that a peer throws on purpose have details or another code.
  return error.details === undefined && forwardingOf(handler) !== undefined;
}

/**
 * Removes from an object and its parts what other servers have sent and callers must not receive: cookies, headers with
 * secret names, and parts of failed responses. Returns whether there was any.
 */
function withholdForeign(holder: unknown, isHeaders = false): boolean {
  if (typeof holder !== "object" || holder === null) return false;
  let isWithheld = !isHeaders && withholdFailure(holder as JSONObject);
  for (const [key, value] of Object.entries(holder)) {
    if (isHeaders ? isSecretName(key) : key === "setCookie") {
      delete (holder as JSONObject)[key];
      isWithheld = true;
    } else if (withholdForeign(value, key === "headers")) isWithheld = true;
  }
  return isWithheld;
}

/** Removes parts of a failed response of an imported API, as `details` of its error contains it. */
function withholdFailure(response: JSONObject): boolean {
  const { status, headers, body } = response;
  if (!isErrorStatus(status) || !isObject(headers)) return false;
  if (status >= 500) {
    for (const name of ["headers", "contentType", "body", "location", "setCookie"]) delete response[name];
    return true;
  }
  const text = typeof body === "string" ? body : (JSON.stringify(body) ?? "");
  if (text.length <= maxForeignBody) return false;
  response["body"] = text.slice(0, maxForeignBody);
  return true;
}

/** Returns the meta that callers of a server receive: without cookies, challenges and headers with secret names. */
export function toPublicMeta(meta: ResponseMeta): ResponseMeta {
  if (meta.source !== "http") return meta;
  const copy = { ...meta, headers: { ...meta.headers } };
  return withholdForeign(copy) ? copy : meta;
}

/** Returns the rules above for the calls of a transport. Data and details keep their values, unless they contain secrets. */
export function createOutcomeFilter(registry: OperationRegistry, exposeErrors: boolean): OutcomeFilter {
  const { operations } = coreOf(registry);
  return {
    toEnvelope(envelope) {
      const meta = toPublicMeta(envelope.meta);
      return meta === envelope.meta ? envelope : { data: envelope.data, meta };
    },
    toError(error, { operationId, requestId }) {
      const handler = operations.get(operationId)?.handler;
      return toPublicError(error, { operationId, requestId, handler, exposeErrors });
    },
  };
}

/** Statuses that describe the connection between the caller and this server, and never the one to another server. */
const ownStatuses: readonly number[] = [401, 403, 407];

/** Returns the HTTP status of an error. `ACCESS_DENIED` is 401 for a caller without an identity. */
export function statusOf(
  { code, details }: Pick<CallError, "code" | "details">,
  spec: OperationSpec | undefined,
  hasIdentity: boolean,
): number {
  if (code === "ACCESS_DENIED" && !hasIdentity) return 401;
  const isImported = getOwn(spec?._meta, "openapi") !== undefined;
  const foreign = isImported ? getOwn(details, "status") : undefined;
  if (isErrorStatus(foreign)) return ownStatuses.includes(foreign) ? 502 : foreign;
  if (Object.hasOwn(errorCodes, code)) return errorCodes[code as keyof typeof errorCodes].httpStatus;
  const declared = spec?.errorSchemas?.find((error) => error.code === code)?.httpStatus;
  if (!isErrorStatus(declared)) return 422;
  if (isImported) return ownStatuses.includes(declared) ? 502 : declared;
  return declared === 401 || declared === 407 ? 422 : declared;
}

function isErrorStatus(status: unknown): status is number {
  return Number.isInteger(status) && (status as number) >= 400 && (status as number) <= 599;
}
