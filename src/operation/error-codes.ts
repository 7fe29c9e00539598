import type { InfrastructureErrorCode } from "./error.ts";

/** How a code looks on the two wires that have numbers of their own. */
export interface ErrorCodeInfo {
  httpStatus: number;
  /** Standard codes where JSON-RPC has one; the others are outside its reserved range, -32768 to -32000. */
  jsonRPCCode: number;
}

/** HTTP status and JSON-RPC code of every code that this package uses. A code an operation declares is not in it. */
export const errorCodes: Readonly<Record<InfrastructureErrorCode, ErrorCodeInfo>> = Object.freeze({
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
});
