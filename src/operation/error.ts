/** Codes that this package itself uses. An operation may declare and throw codes of its own. */
export const InfrastructureErrorCode = {
  OPERATION_NOT_FOUND: "OPERATION_NOT_FOUND",
  ACCESS_DENIED: "ACCESS_DENIED",
  VALIDATION_ERROR: "VALIDATION_ERROR",
  WRONG_OPERATION_TYPE: "WRONG_OPERATION_TYPE",
  TIMEOUT: "TIMEOUT",
  ABORTED: "ABORTED",
  EXECUTION_ERROR: "EXECUTION_ERROR",
  UNKNOWN_ERROR: "UNKNOWN_ERROR",
  OUTPUT_INVALID: "OUTPUT_INVALID",
  UNAVAILABLE: "UNAVAILABLE",
  UPSTREAM_DENIED: "UPSTREAM_DENIED",
  BAD_RESPONSE: "BAD_RESPONSE",
  PAYLOAD_TOO_LARGE: "PAYLOAD_TOO_LARGE",
  OVERFLOW: "OVERFLOW",
  STREAM_GAP: "STREAM_GAP",
  LIMIT_EXCEEDED: "LIMIT_EXCEEDED",
  INPUT_REQUIRED: "INPUT_REQUIRED",
} as const;
/** One of the codes that this package itself uses. */
export type InfrastructureErrorCode = (typeof InfrastructureErrorCode)[keyof typeof InfrastructureErrorCode];

/** What a `CallError` can be told besides code, message and details. */
export interface CallErrorOptions {
  /** The original error. Stays in this process; never part of the JSON. */
  cause?: unknown;
  /** Whether the same call may succeed when made again. @default false */
  retryable?: boolean;
  /** Whether the operation may have had an effect. `false` promises that it never started. @default true */
  mayHaveRun?: boolean;
}

/** A `CallError` as it travels. */
export interface CallErrorJSON {
  code: string;
  message: string;
  details?: unknown;
  retryable: boolean;
  mayHaveRun: boolean;
}

const brand = Symbol.for("@alkdev/operations/CallError");

/** The one error that calls fail with. Decide by `code`, never by the message. */
export class CallError extends Error {
  override readonly name = "CallError";
  readonly code: string;
  readonly details?: unknown;
  /** Whether the same call may succeed when made again. */
  readonly retryable: boolean;
  /** Whether the operation may have had an effect; `false` promises that it never started. */
  readonly mayHaveRun: boolean;

  constructor(code: InfrastructureErrorCode | (string & {}), message: string, details?: unknown, options: CallErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    if (details !== undefined) this.details = details;
    this.retryable = options.retryable ?? false;
    this.mayHaveRun = options.mayHaveRun ?? true;
  }

  /** What a remote caller gets: no stack, no cause. */
  toJSON(): CallErrorJSON {
    const { code, message, details, retryable, mayHaveRun } = this;
    return details === undefined
      ? { code, message, retryable, mayHaveRun }
      : { code, message, details, retryable, mayHaveRun };
  }

  /** Makes the error again from its JSON. Missing flags read as the cautious ones. */
  static fromJSON(json: CallErrorJSON): CallError {
    return new CallError(json.code, json.message, json.details, {
      retryable: json.retryable === true,
      mayHaveRun: json.mayHaveRun !== false,
    });
  }
}
Object.defineProperty(CallError.prototype, brand, { value: true });

/** Tells whether a value is a `CallError`, also one from another copy of this package. */
export function isCallError(value: unknown): value is CallError {
  return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[brand] === true;
}
