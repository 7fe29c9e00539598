import { getOwn } from "../internal/objects.ts";
import { quote, toReason } from "../internal/text.ts";
import { CallError, isCallError } from "../operation/index.ts";

/** The exit codes of the command. */
export const exitCodes = {
  /** The command succeeded. */
  ok: 0,
  /** An unexpected failure, which is a bug. */
  unexpected: 1,
  /** Usage or input is invalid. Nothing was called. */
  usage: 2,
  /** Authentication or permission is missing. */
  denied: 3,
  /** The target cannot be reached, or did not respond in time. */
  unreachable: 4,
  /** The operation failed. */
  failed: 5,
  /** The user interrupted the command. */
  interrupted: 130,
} as const;

/** Exit codes by `error.code`. Every other code, such as one that an operation declares, is {@link exitCodes.failed}. */
export const exitCodesByErrorCode: Readonly<Record<string, number>> = {
  USAGE: exitCodes.usage,
  CONFIG_NOT_TRUSTED: exitCodes.usage,
  OPERATION_NOT_FOUND: exitCodes.usage,
  VALIDATION_ERROR: exitCodes.usage,
  WRONG_OPERATION_TYPE: exitCodes.usage,
  ACCESS_DENIED: exitCodes.denied,
  UPSTREAM_DENIED: exitCodes.denied,
  UNAVAILABLE: exitCodes.unreachable,
  TIMEOUT: exitCodes.unreachable,
  ABORTED: exitCodes.unreachable,
  FILTER_FAILED: exitCodes.unexpected,
  UNEXPECTED: exitCodes.unexpected,
};

/** Invalid usage: nothing was called. The message states what to do instead. */
export function usageError(message: string): CallError {
  return new CallError("USAGE", message, undefined, { mayHaveRun: false });
}

/** Invalid usage with the name that was probably meant, or else with `help`. */
export function unknownName(message: string, suggestion: string | undefined, help: string): CallError {
  return usageError(suggestion === undefined ? message + help : `${message} Did you mean ${quote(suggestion)}?`);
}

/** The report of a failure, as `--json` prints it. */
export interface FailureReport {
  /** Identifies the kind of failure. */
  code: string;
  /** What failed, on what, and what to do next. */
  message: string;
  /** Id of the operation. */
  operation?: string;
  /** What is invalid in the input. */
  issues?: unknown;
  /** Further details, whose shape depends on the code. */
  details?: unknown;
}

/** Converts what a command threw to its report and exit code. */
export function toFailure(error: unknown, operation: string | undefined): { report: FailureReport; exitCode: number } {
  const known = isCallError(error) ? error : undefined;
  if (known === undefined) {
    const code = "UNEXPECTED";
    return {
      report: withOperation({ code, message: `${toReason(error)}.` }, operation),
      exitCode: exitCodes.unexpected,
    };
  }
  const { code, message, details } = known.toJSON();
  const report = withOperation({ code, message }, operation);
  const nearest = code === "OPERATION_NOT_FOUND" ? getOwn(details, "nearest") : undefined;
  // The message of the library also describes how a program writes the id.
  if (typeof nearest === "string" && operation !== undefined) {
    report.message = `No operation ${quote(operation)}. Did you mean ${quote(nearest)}?`;
  }
  const issues = code === "VALIDATION_ERROR" ? (details as { errors?: unknown } | undefined)?.errors : undefined;
  if (issues !== undefined) report.issues = issues;
  else if (details !== undefined) report.details = details;
  return { report, exitCode: exitCodeOf(known) };
}

/** An operation that ran may also report that some input is invalid: only what never ran is invalid usage. */
function exitCodeOf({ code, mayHaveRun }: CallError): number {
  const exitCode = Object.hasOwn(exitCodesByErrorCode, code) ? exitCodesByErrorCode[code]! : exitCodes.failed;
  return exitCode === exitCodes.usage && mayHaveRun ? exitCodes.failed : exitCode;
}

function withOperation(report: FailureReport, operation: string | undefined): FailureReport {
  return operation === undefined ? report : { ...report, operation };
}
