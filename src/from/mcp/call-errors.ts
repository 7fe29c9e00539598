import { classNameOf } from "../../internal/instances.ts";
import { quote, truncate } from "../../internal/text.ts";
import { CallError, isCallError, mapError } from "../../operation/index.ts";
import { inputRequired } from "./input-required.ts";
import { boundedData, isObject } from "./values.ts";

/** Codes of JSON-RPC and MCP that mean something to us. Those between -32000 and -32019 mean nothing. */
const invalidParams = -32602;
const methodNotFound = -32601;
const missingCapability = -32021;
const elicitationRequired = -32042;
const resourceNotFound = -32002;

const refused = { retryable: false, mayHaveRun: false } as const;
const longestMessage = 1_000;

/**
 * Turns what a request to a server failed with into a `CallError`. What happened to the connection is one already;
 * the rest is what the server answered, or an answer that the protocol does not allow. Never decides by a message.
 */
export function toCallError(error: unknown, operationId: string): CallError {
  if (isCallError(error)) return error;
  if (!isFailure(error)) return mapError(error);
  return typeof error.code === "number"
    ? fromProtocolError(error, error.code, operationId)
    : fromSDKError(error, operationId);
}

/** Tells whether the server refused the request as such: the tool is unknown to it, or its arguments are wrong. */
export function isInvalidParams(error: unknown): boolean {
  return isFailure(error) && error.code === invalidParams;
}

/** `OPERATION_NOT_FOUND`: the server does not have the tool any more. */
export function toolGone(operationId: string, cause: unknown): CallError {
  return new CallError(
    "OPERATION_NOT_FOUND",
    `The server of ${quote(operationId)} does not know this tool any more.`,
    { operationId },
    { ...refused, cause },
  );
}

/** `VALIDATION_ERROR`: the arguments hold an object whose content JSON would silently drop. */
export function notJSON(operationId: string, object: object): CallError {
  const message = `${quote(operationId)} cannot be called: its arguments hold a ${classNameOf(object)}, which JSON cannot carry.`;
  return new CallError("VALIDATION_ERROR", message, { operationId }, refused);
}

interface Failure {
  code?: unknown;
  message: string;
  data?: unknown;
}

function isFailure(error: unknown): error is Failure {
  return error instanceof Error && "code" in error;
}

function fromProtocolError(error: Failure, code: number, operationId: string): CallError {
  const details = { operationId, mcp: { code, ...boundedData(error) } };
  const message = truncate(error.message, longestMessage);
  switch (code) {
    case invalidParams:
    case resourceNotFound:
      return new CallError("VALIDATION_ERROR", `${quote(operationId)} was refused: ${message}`, details, {
        ...refused,
        cause: error,
      });
    case methodNotFound:
      return new CallError("OPERATION_NOT_FOUND", `${quote(operationId)} was not found: ${message}`, details, {
        ...refused,
        cause: error,
      });
    case missingCapability:
    case elicitationRequired: {
      const problem = code === elicitationRequired || needsElicitation(error) ? "unanswered" : "notOffered";
      return inputRequired(operationId, problem, { mcp: details.mcp }, { cause: error });
    }
    default:
      return new CallError("EXECUTION_ERROR", `${quote(operationId)} failed: ${message}`, details, { cause: error });
  }
}

function needsElicitation({ data }: Failure): boolean {
  const required = isObject(data) ? data["requiredCapabilities"] : undefined;
  return isObject(required) && Object.hasOwn(required, "elicitation");
}

function fromSDKError(error: Failure, operationId: string): CallError {
  const { code, data } = error;
  switch (code) {
    case "UNSUPPORTED_RESULT_TYPE":
      return isObject(data) && data["resultType"] === "input_required"
        ? inputRequired(operationId, "unanswered", {}, { cause: error })
        : badResponse(error, operationId);
    case "INPUT_REQUIRED_ROUNDS_EXCEEDED":
      return inputRequired(operationId, "endless", {}, { cause: error });
    case "CAPABILITY_NOT_SUPPORTED":
      return inputRequired(operationId, "notOffered", {}, { cause: error });
    case "INVALID_RESULT":
      return badResponse(error, operationId);
    default:
      return mapError(error);
  }
}

function badResponse(error: Failure, operationId: string): CallError {
  const message = truncate(error.message, longestMessage);
  return new CallError(
    "BAD_RESPONSE",
    `${quote(operationId)} got no usable answer: ${message}`,
    { operationId },
    {
      cause: error,
    },
  );
}
