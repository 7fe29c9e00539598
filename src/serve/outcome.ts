import { classNameOf, hidesState, readJSONForm } from "../internal/instances.ts";
import { escapeToken } from "../internal/json-pointer.ts";
import { logger } from "../internal/log.ts";
import { getOwn, isObject, type JSONObject } from "../internal/objects.ts";
import { isSecretName } from "../internal/secrets.ts";
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
  if (value === undefined) return undefined;
  if (!isCarried(value, maxDepth)) new LossFinder().check(value);
  return JSON.stringify(value);
}

/** Returns whether JSON carries a value. Returns false if unsure. Runs for every result, and allocates nothing. */
function isCarried(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return value - value === 0; // Subtracting NaN or an infinity from itself yields NaN.
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (depth === 0) return false;
  const prototype = Object.getPrototypeOf(value);
  if (Array.isArray(value)) {
    if (prototype !== Array.prototype) return false;
    for (let index = 0; index < value.length; index++) if (!isCarried(value[index], depth - 1)) return false;
    return true;
  }
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const key in value) {
    const part = (value as JSONObject)[key];
    if (part !== undefined && !isCarried(part, depth - 1)) return false;
  }
  return typeof (value as JSONObject)["toJSON"] !== "function";
}

/** Finds the path of a value that JSON would lose or change. */
class LossFinder {
  readonly #path: string[] = [];
  readonly #ancestors = new Set<object>();

  /** Throws `EXECUTION_ERROR` if JSON does not carry the value. */
  check(value: unknown): void {
    switch (typeof value) {
      case "number":
        if (!Number.isFinite(value)) throw this.#fail(`JSON does not have ${value}`);
        return;
      case "bigint":
        throw this.#fail("JSON does not have integers of this size; return a string");
      case "undefined":
        throw this.#fail("JSON does not have undefined; return null, or omit the item");
      case "function":
      case "symbol":
        throw this.#fail(`JSON does not have values of type ${typeof value}`);
      case "object":
        if (value !== null) this.#checkObject(value);
    }
  }

  #checkObject(object: object): void {
    if (this.#ancestors.has(object)) throw this.#fail("it contains itself");
    if (this.#ancestors.size >= maxDepth) throw this.#fail("it is nested too deep");
    this.#ancestors.add(object);
    try {
      this.#checkContent(object);
    } catch (error) {
      throw isCallError(error) ? error : this.#fail("reading it failed", error);
    }
    this.#ancestors.delete(object);
  }

  #checkContent(object: object): void {
    if (Array.isArray(object)) {
      for (let index = 0; index < object.length; index++) this.#checkPart(String(index), object[index]);
      return;
    }
    if (object instanceof Date && Number.isNaN(object.getTime())) throw this.#fail("it is an invalid Date");
    if (readBytes(object) !== undefined) throw this.#fail("bytes are sent only as the whole result; return base64");
    if (object instanceof Map || object instanceof Set || object instanceof Error) {
      throw this.#fail(`JSON does not have a ${classNameOf(object)}; return an object or an array`);
    }
    const form = readJSONForm(object);
    if (form !== undefined) return this.check(form[0]);
    if (hidesState(object)) throw this.#fail(`JSON does not have a ${classNameOf(object)}`);
    for (const [key, value] of Object.entries(object)) if (value !== undefined) this.#checkPart(key, value);
  }

  #checkPart(key: string, value: unknown): void {
    this.#path.push(key);
    this.check(value);
    this.#path.pop();
  }

  #fail(reason: string, cause?: unknown): CallError {
    const path = this.#path.map((step) => `/${escapeToken(step)}`).join("");
    const message = `The result has a value at ${quote(path)} that cannot be sent: ${reason}.`;
    return new CallError("EXECUTION_ERROR", message, { path, reason }, cause === undefined ? {} : { cause });
  }
}
