import { toJSONSafe } from "../internal/json-safe.ts";

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
  declare readonly details?: unknown;
  /** Whether the same call may succeed when made again. */
  readonly retryable: boolean;
  /** Whether the operation may have had an effect; `false` promises that it never started. */
  readonly mayHaveRun: boolean;

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
   * What a remote caller gets: no stack, no cause. Always JSON: parts of `details` that JSON cannot hold are replaced
   * or left out, so that telling an error never fails.
   */
  toJSON(): CallErrorJSON {
    const { code, message, retryable, mayHaveRun } = this;
    const details = toJSONSafe(this.details);
    return details === undefined
      ? { code, message, retryable, mayHaveRun }
      : { code, message, details, retryable, mayHaveRun };
  }

  /** Makes the error again from its JSON. Missing or odd fields read as the cautious ones. */
  static fromJSON(json: CallErrorJSON): CallError {
    const { code, message, details, retryable, mayHaveRun } = (json ?? {}) as Partial<CallErrorJSON>;
    return new CallError(
      typeof code === "string" ? code : InfrastructureErrorCode.UNKNOWN_ERROR,
      typeof message === "string" ? message : "The other side reported an error without a message.",
      details,
      { retryable: retryable === true, mayHaveRun: mayHaveRun !== false },
    );
  }
}
// On the prototype, so that errors print without it and hold it through subclasses.
Object.defineProperty(CallError.prototype, brand, { value: true });

/** Tells whether a value is a `CallError`, also one from another copy of this package. Never throws. */
export function isCallError(value: unknown): value is CallError {
  if (typeof value !== "object" || value === null) return false;
  try {
    return (value as Record<symbol, unknown>)[brand] === true && typeof (value as CallError).code === "string";
  } catch {
    return false; // a proxy or a getter that throws
  }
}
