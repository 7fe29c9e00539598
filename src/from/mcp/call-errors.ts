import { toJSONSafe } from "../../internal/json-safe.ts";
import { isObject } from "../../internal/objects.ts";
import { quote, truncate } from "../../internal/text.ts";
import { CallError, type CallErrorOptions, isCallError, mapError } from "../../operation/index.ts";
import { describeUnsendable, type Unsendable } from "../../transport/unsendable.ts";

/** Error codes of JSON-RPC and MCP with a defined meaning. Codes from -32000 to -32019 are defined by each server. */
const invalidParams = -32602;
const methodNotFound = -32601;
const missingCapability = -32021;
const elicitationRequired = -32042;
const resourceNotFound = -32002;

const notRun = { retryable: false, mayHaveRun: false } as const;
const maxMessageLength = 1_000;
const maxDataLength = 4_000;

/**
 * Converts the failure of a request to a server into a `CallError`. Connection errors are already a `CallError`. All
 * others are errors that the server returned, or responses that violate the protocol.
 */
export function toCallError(error: unknown, operationId: string): CallError {
  if (isCallError(error)) return error;
  if (!isFailure(error)) return mapError(error);
  return typeof error.code === "number"
    ? fromProtocolError(error, error.code, operationId)
    : fromSDKError(error, operationId);
}

/** Whether the server rejected the request itself, because the tool is unknown or the arguments are invalid. */
export function isInvalidParams(error: unknown): boolean {
  return isFailure(error) && error.code === invalidParams;
}

/** `OPERATION_NOT_FOUND`: the server no longer has the tool. */
export function toolNotFound(operationId: string, cause: unknown): CallError {
  const message = `The server of ${quote(operationId)} no longer has this tool.`;
  return new CallError("OPERATION_NOT_FOUND", message, { operationId }, { ...notRun, cause });
}

/** `VALIDATION_ERROR`: JSON would silently lose a part of the input. */
export function notJSON(operationId: string, found: Unsendable): CallError {
  const message = `${quote(operationId)} cannot be called: its input ${describeUnsendable(found)}. Pass JSON values only.`;
  return new CallError("VALIDATION_ERROR", message, { operationId }, notRun);
}

const inputProblems = {
  /** The server requests input from the user. */
  unanswered: "requests input from the user. Set onElicit in the server's configuration to provide it.",
  /** The server requests another client capability, such as sampling or roots. */
  notOffered: "requests a capability that this client does not support.",
  /** The server keeps requesting input after it received some. */
  endless: "keeps requesting input, so the call was ended.",
};

/** `INPUT_REQUIRED`: the server needs input to complete a call, and this client cannot provide it. */
export function inputRequired(
  operationId: string,
  problem: keyof typeof inputProblems = "unanswered",
  details: object = {},
  options: CallErrorOptions = {},
): CallError {
  const message = `${quote(operationId)} ${inputProblems[problem]}`;
  return new CallError("INPUT_REQUIRED", message, { operationId, ...details }, options);
}

/** Returns the data of a server's error as JSON, or an empty object if it is too large. */
export function boundedData({ data }: { data?: unknown }): { data?: unknown } {
  if (data === undefined) return {};
  const safe = toJSONSafe(data);
  return JSON.stringify(safe ?? null).length > maxDataLength ? {} : { data: safe };
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
  const id = quote(operationId);
  const details = { operationId, mcp: { code, ...boundedData(error) } };
  const message = truncate(error.message, maxMessageLength);
  const refused = { ...notRun, cause: error };
  switch (code) {
    case invalidParams:
    case resourceNotFound:
      return new CallError("VALIDATION_ERROR", `${id} was refused: ${message}`, details, refused);
    case methodNotFound:
      return new CallError("OPERATION_NOT_FOUND", `${id} was not found: ${message}`, details, refused);
    case missingCapability:
    case elicitationRequired: {
      const problem = code === elicitationRequired || needsElicitation(error) ? "unanswered" : "notOffered";
      return inputRequired(operationId, problem, { mcp: details.mcp }, { cause: error });
    }
    default:
      return new CallError("EXECUTION_ERROR", `${id} failed: ${message}`, details, { cause: error });
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
  const message = `${quote(operationId)} returned an invalid response: ${truncate(error.message, maxMessageLength)}`;
  return new CallError("BAD_RESPONSE", message, { operationId }, { cause: error });
}
