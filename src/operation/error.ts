import { toJSONSafe } from "../internal/json-safe.ts";
import { boolean, type ObjectOf, optional, string, unknown } from "../internal/shape.ts";

/** What a code is on the wires that have numbers of their own. */
export interface ErrorCodeInfo {
  /** Status of an HTTP response. */
  httpStatus: number;
  /** Standard codes where JSON-RPC has one; the others are outside its reserved range, -32768 to -32000. */
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

/** One of the codes that this package itself uses. */
export type InfrastructureErrorCode = keyof typeof codes;

/** HTTP status and JSON-RPC code of every code that this package uses. A code that an operation declares is not in it. */
export const errorCodes: Readonly<Record<InfrastructureErrorCode, ErrorCodeInfo>> = Object.freeze(codes);

/** Codes that this package itself uses. An operation may declare and throw codes of its own. */
export const InfrastructureErrorCode = Object.fromEntries(Object.keys(codes).map((code) => [code, code])) as {
  readonly [Code in InfrastructureErrorCode]: Code;
};

/** What a `CallError` can have besides code, message and details. */
export interface CallErrorOptions {
  /** The original error. Stays in this process; never part of the JSON. */
  cause?: unknown;
  /** Whether the same call may succeed when made again. @default false */
  retryable?: boolean;
  /** Whether the operation may have had an effect. `false` promises that it never started. @default true */
  mayHaveRun?: boolean;
}

/** Every field of a {@link CallErrorJSON}. */
export const errorJSONFields = {
  /** What callers decide by: whatever an operation throws. */
  code: string(),
  /** What failed, for people. */
  message: string(),
  /** More about it; the shape depends on the code. */
  details: optional(unknown()),
  /** Whether the same call may succeed when made again. */
  retryable: boolean(),
  /** Whether the operation may have had an effect; `false` promises that it never started. */
  mayHaveRun: boolean(),
};

/** A `CallError` as it travels. */
export interface CallErrorJSON extends ObjectOf<typeof errorJSONFields> {}

const brand = Symbol.for("@alkdev/operations/CallError");

/**
 * The one error that calls fail with. Decide by `code`, never by the message.
 * @example
 * throw new CallError("SEAT_TAKEN", "Seat 3 is taken.", { free: [4, 5] });
 */
export class CallError extends Error {
  /** Always `CallError`. */
  override readonly name = "CallError";
  /** What callers decide by. */
  readonly code: string;
  /** More about the failure; the shape depends on the code. */
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
   * or left out, so that reporting an error never fails.
   */
  toJSON(): CallErrorJSON {
    const { code, message, retryable, mayHaveRun } = this;
    const details = toJSONSafe(this.details);
    return details === undefined
      ? { code, message, retryable, mayHaveRun }
      : { code, message, details, retryable, mayHaveRun };
  }

  /** Restores the error from its JSON. Missing or invalid fields take the cautious values. */
  static fromJSON(json: CallErrorJSON): CallError {
    const { code, message, details, retryable, mayHaveRun } = (json ?? {}) as Partial<CallErrorJSON>;
    return new CallError(
      typeof code === "string" ? code : InfrastructureErrorCode.UNKNOWN_ERROR,
      typeof message === "string" ? message : "The peer reported an error without a message.",
      details,
      { retryable: retryable === true, mayHaveRun: mayHaveRun !== false },
    );
  }
}
// On the prototype, so that errors print without it and hold it through subclasses.
Object.defineProperty(CallError.prototype, brand, { value: true });

/** Whether a value is a `CallError`, also one from another copy of this package. Never throws. */
export function isCallError(value: unknown): value is CallError {
  if (typeof value !== "object" || value === null) return false;
  try {
    return (value as Record<symbol, unknown>)[brand] === true && typeof (value as CallError).code === "string";
  } catch {
    return false; // a proxy or a getter that throws
  }
}
