import { toJSONSafe } from "../internal/json-safe.ts";
import { describeValue, truncate } from "../internal/text.ts";

/** The numbers of a code in HTTP and JSON-RPC. */
export interface ErrorCodeInfo {
  /** Status of an HTTP response. */
  httpStatus: number;
  /** A standard JSON-RPC code if there is one, otherwise a number outside its reserved range, -32768 to -32000. */
  jsonRPCCode: number;
}

const codes = {
  OPERATION_NOT_FOUND: { httpStatus: 404, jsonRPCCode: -32601 },
  ACCESS_DENIED: { httpStatus: 403, jsonRPCCode: -31001 },
  VALIDATION_ERROR: { httpStatus: 400, jsonRPCCode: -32602 },
  WRONG_OPERATION_TYPE: { httpStatus: 405, jsonRPCCode: -32600 },
  TIMEOUT: { httpStatus: 504, jsonRPCCode: -31002 },
  ABORTED: { httpStatus: 499, jsonRPCCode: -31003 },
  EXECUTION_ERROR: { httpStatus: 500, jsonRPCCode: -31000 },
  UNKNOWN_ERROR: { httpStatus: 500, jsonRPCCode: -32603 },
  OUTPUT_INVALID: { httpStatus: 500, jsonRPCCode: -31004 },
  UNAVAILABLE: { httpStatus: 503, jsonRPCCode: -31005 },
  UPSTREAM_DENIED: { httpStatus: 502, jsonRPCCode: -31006 },
  BAD_RESPONSE: { httpStatus: 502, jsonRPCCode: -31007 },
  PAYLOAD_TOO_LARGE: { httpStatus: 413, jsonRPCCode: -31008 },
  OVERFLOW: { httpStatus: 503, jsonRPCCode: -31009 },
  STREAM_GAP: { httpStatus: 502, jsonRPCCode: -31010 },
  LIMIT_EXCEEDED: { httpStatus: 429, jsonRPCCode: -31011 },
  INPUT_REQUIRED: { httpStatus: 422, jsonRPCCode: -31012 },
} satisfies Record<string, ErrorCodeInfo>;

/** A code that this package uses. */
export type InfrastructureErrorCode = keyof typeof codes;

// Bundlers leave out what is marked as pure and is not used, so that a page with a client does not load the table.

/** HTTP status and JSON-RPC code of every code that this package uses. Codes that operations declare are not included. */
export const errorCodes: Readonly<Record<InfrastructureErrorCode, ErrorCodeInfo>> =
  /* @__PURE__ */ Object.freeze(codes);

/** Codes that this package uses. An operation may declare and throw other codes. */
export const InfrastructureErrorCode = /* @__PURE__ */ namesOf(codes);

function namesOf<Name extends string>(table: Record<Name, unknown>): { readonly [Each in Name]: Each } {
  return Object.fromEntries(Object.keys(table).map((name) => [name, name])) as { [Each in Name]: Each };
}

/** Options of a `CallError`. */
export interface CallErrorOptions {
  /** The original error. Never part of the JSON. */
  cause?: unknown;
  /** Whether the same call may succeed if it is repeated. @default false */
  retryable?: boolean;
  /** Whether the operation may have had an effect. `false` guarantees that it never started. @default true */
  mayHaveRun?: boolean;
}

/** The JSON form of a `CallError`. */
export interface CallErrorJSON {
  /** Identifies the kind of failure. Any string that an operation throws. */
  code: string;
  /** A description of the failure, for people. */
  message: string;
  /** Details of the failure; the shape depends on the code. */
  details?: unknown;
  /** Whether the same call may succeed if it is repeated. */
  retryable: boolean;
  /** Whether the operation may have had an effect; `false` guarantees that it never started. */
  mayHaveRun: boolean;
}

const brand = Symbol.for("@alkdev/operations/CallError");

/**
 * The error of every failed call. Compare `code`, never the message.
 * @example
 * throw new CallError("SEAT_TAKEN", "Seat 3 is taken.", { free: [4, 5] });
 */
export class CallError extends Error {
  /** Always `CallError`. */
  override readonly name = "CallError";
  /** Identifies the kind of failure. */
  readonly code: string;
  /** Details of the failure; the shape depends on the code. */
  declare readonly details?: unknown;
  /** Whether the same call may succeed if it is repeated. */
  readonly retryable: boolean;
  /** Whether the operation may have had an effect; `false` guarantees that it never started. */
  readonly mayHaveRun: boolean;
  /** Id of the request at the HTTP server that reported the error, to find it in the server's log. Not part of the JSON. */
  declare readonly requestId?: string;

  constructor(
    code: InfrastructureErrorCode | (string & {}),
    message: string,
    details?: unknown,
    options: CallErrorOptions = {},
  ) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    if (details !== undefined) this.details = details;
    this.retryable = options.retryable ?? false;
    this.mayHaveRun = options.mayHaveRun ?? true;
  }

  /**
   * Returns the form that remote callers receive, without stack and cause. Parts of `details` that JSON cannot represent
   * are replaced or omitted, so that reporting an error never fails.
   */
  toJSON(): CallErrorJSON {
    const { code, message, retryable, mayHaveRun } = this;
    const details = toJSONSafe(this.details);
    return details === undefined
      ? { code, message, retryable, mayHaveRun }
      : { code, message, details, retryable, mayHaveRun };
  }

  /** Restores the error from its JSON. Missing or invalid fields are replaced by conservative defaults. */
  static fromJSON(json: CallErrorJSON): CallError {
    const { code, message, details, retryable, mayHaveRun } = (json ?? {}) as Partial<CallErrorJSON>;
    return new CallError(
      typeof code === "string" ? code : "UNKNOWN_ERROR",
      typeof message === "string" ? message : "The peer reported an error without a message.",
      details,
      { retryable: retryable === true, mayHaveRun: mayHaveRun !== false },
    );
  }
}
// Defined on the prototype: errors print without it, and subclasses inherit it.
Object.defineProperty(CallError.prototype, brand, { value: true });

/** Returns whether a value is a `CallError`, including one from another copy of this package. */
export function isCallError(value: unknown): value is CallError {
  if (typeof value !== "object" || value === null) return false;
  return (value as Record<symbol, unknown>)[brand] === true && typeof (value as CallError).code === "string";
}

/** Returns whether a value is a `CallError` with this code. */
export function hasCode(error: unknown, code: string): boolean {
  return isCallError(error) && error.code === code;
}

const maxMessageLength = 2_000;

/**
 * Converts a thrown value to a `CallError`. A `CallError` is returned unchanged. Any other `Error` becomes
 * `EXECUTION_ERROR` with its message, any other value `UNKNOWN_ERROR`; both keep the original as `cause`.
 * The message and `code` of a foreign error do not affect the code. Never throws.
 */
export function mapError(error: unknown): CallError {
  try {
    if (isCallError(error)) return error;
    // An error of another realm is not an instance of `Error`.
    if (error instanceof Error || Object.prototype.toString.call(error) === "[object Error]") {
      return new CallError("EXECUTION_ERROR", messageOf(error as Error), undefined, { cause: error });
    }
  } catch {
    // A proxy or a getter threw.
  }
  const message = `A value that is not an Error was thrown: ${describeValue(error)}.`;
  return new CallError("UNKNOWN_ERROR", message, undefined, { cause: error });
}

function messageOf({ message, name }: { message: unknown; name: unknown }): string {
  if (typeof message === "string" && message !== "") return truncate(message, maxMessageLength);
  const isNamed = typeof name === "string" && name !== "";
  return isNamed ? `${truncate(name, 100)} without a message` : "Error without a message";
}
