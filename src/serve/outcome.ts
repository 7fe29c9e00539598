import { logger } from "../internal/log.ts";
import { getOwn, isObject, type JSONObject } from "../internal/objects.ts";
import { isSecretName } from "../internal/secrets.ts";
import { NotJSON, stringifyStrictly } from "../internal/strict-json.ts";
import { quote } from "../internal/text.ts";
import {
  CallError,
  type CallErrorJSON,
  errorCodes,
  isCallError,
  type MCPResponseMeta,
  mapError,
  type OperationSpec,
  type ResponseEnvelope,
  type ResponseMeta,
} from "../operation/index.ts";
import { forwardingOf } from "../registry/index.ts";

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

/**
 * Returns the form of an error that callers of a server receive. The message of an error that was not thrown as a
 * `CallError` is logged and replaced, because it may describe the internals of the operation.
 */
export function toPublicError(error: CallError, call: FailedCall): CallErrorJSON {
  const json = error.toJSON();
  if (!call.exposeErrors && isUnexpected(error, call.handler)) {
    const { operationId, requestId } = call;
    log.error("{operationId} failed ({requestId}): {error}", { operationId, requestId, error: error.cause ?? error });
    json.message = `The operation failed. Request id: ${requestId}.`;
  }
  if (json.details !== undefined) dropSecretHeaders(json.details); // The JSON is a copy.
  return json;
}

/** Returns whether an error was created from one that is not a `CallError`, in this process or in that of a peer. */
function isUnexpected(error: CallError, handler: object | undefined): boolean {
  if (error.code !== "EXECUTION_ERROR" && error.code !== "UNKNOWN_ERROR") return false;
  if ("cause" in error && !isCallError(error.cause)) return mapError(error.cause).message === error.message;
  // Peers send errors without their cause. Those that a peer throws on purpose have details or another code.
  return error.details === undefined && forwardingOf(handler) !== undefined;
}

/** Removes the headers with secret names from every `headers` object in details. */
function dropSecretHeaders(details: unknown): void {
  if (typeof details !== "object" || details === null) return;
  for (const [key, value] of Object.entries(details)) {
    if (key === "setCookie") delete (details as JSONObject)[key];
    else if (key === "headers" && isObject(value)) {
      for (const name of Object.keys(value)) if (isSecretName(name)) delete value[name];
    } else dropSecretHeaders(value);
  }
}

/** Returns the meta that callers of a server receive: without cookies, challenges and headers with secret names. */
export function toPublicMeta(meta: ResponseMeta): ResponseMeta {
  if (meta.source !== "http") return meta;
  const { setCookie: _, ...rest } = meta;
  const headers = Object.entries(meta.headers).filter(([name]) => !isSecretName(name));
  return { ...rest, headers: Object.fromEntries(headers) };
}

/** Returns the error that stands for the result of an MCP tool with `isError`; `undefined` for any other result. */
export function toolFailure({ data, meta }: ResponseEnvelope, operationId: string): CallError | undefined {
  if (meta.source !== "mcp" || !meta.isError) return undefined;
  const message = firstText(meta) ?? `The tool of ${quote(operationId)} reported an error.`;
  const details = { content: meta.content, ...(data !== undefined && { data }) };
  return new CallError("EXECUTION_ERROR", message, details);
}

function firstText({ content }: MCPResponseMeta): string | undefined {
  const block = content.find(({ type }) => type === "text");
  const text = getOwn(block, "text");
  return typeof text === "string" && text !== "" ? text.slice(0, 2_000) : undefined;
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

/** Returns the bytes of a buffer or a view of one; `undefined` for any other value. */
export function readBytes(value: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer as ArrayBuffer, value.byteOffset, value.byteLength);
  }
  return value instanceof ArrayBuffer ? new Uint8Array(value) : undefined;
}

/** Maximum depth of a value. A deeper one probably contains itself. */
const maxDepth = 1_000;

/**
 * Returns the JSON of a value, in which a `Date` is its ISO string; `undefined` for `undefined`. Throws `EXECUTION_ERROR`
 * with the path of a value that JSON cannot carry.
 */
export function toJSONText(value: unknown): string | undefined {
  try {
    return stringifyStrictly(value, maxDepth);
  } catch (error) {
    if (!(error instanceof NotJSON)) throw error;
    const { path, reason, cause } = error;
    const message = `The result has a value at ${quote(path)} that cannot be sent: ${reason}.`;
    throw new CallError("EXECUTION_ERROR", message, { path, reason }, cause === undefined ? {} : { cause });
  }
}
