import { nearest } from "../internal/nearest.ts";
import { getOwn } from "../internal/objects.ts";
import { quote, toReason } from "../internal/text.ts";
import { CallError, isCallError } from "../operation/index.ts";

/** How users run the command. `npx operations` would run the package of someone else where this one is not installed. */
export const program = "npx @alkdev/operations";

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

/** Error codes by exit code. Every other code, such as one that an operation declares, is {@link exitCodes.failed}. */
export const errorCodesByExitCode: Readonly<Record<number, readonly string[]>> = {
  [exitCodes.unexpected]: ["UNEXPECTED", "FILTER_FAILED"],
  [exitCodes.usage]: ["USAGE", "CONFIG_NOT_TRUSTED", "OPERATION_NOT_FOUND", "VALIDATION_ERROR", "WRONG_OPERATION_TYPE"],
  [exitCodes.denied]: ["ACCESS_DENIED", "UPSTREAM_DENIED"],
  [exitCodes.unreachable]: ["UNAVAILABLE", "TIMEOUT", "ABORTED"],
};

/** Invalid usage: nothing was called. The message states what to do instead. */
export function usageError(message: string): CallError {
  return new CallError("USAGE", message, undefined, { mayHaveRun: false });
}

/**
 * Invalid usage: an unknown name, with the one that was probably meant.
 * @param kind what the name is for, such as `command`
 * @param help what to do if no known name is similar. By default the known names are listed.
 */
export function unknownName(kind: string, name: string, known: readonly string[], help?: string): CallError {
  const meant = nearest(name, known);
  const advice = meant === undefined ? (help ?? `Use ${known.join(", ")}.`) : `Did you mean ${quote(meant)}?`;
  return usageError(`There is no ${kind} ${quote(name)}. ${advice}`);
}

/** A file that the user named cannot be read or written. */
export function fileError(path: string, action: "read" | "written", error: unknown): CallError {
  const reason = toReason(error).replace(/, \w+(?: '.*')?$/s, ""); // Node adds the system call and the path.
  return usageError(`The file ${quote(path, 1_000)} cannot be ${action}: ${reason}.`);
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
  const known = isCallError(error) ? error : new CallError("UNEXPECTED", `${toReason(error)}.`);
  const { code, message, details, mayHaveRun } = known.toJSON();
  const report: FailureReport = { code, message, ...(operation !== undefined && { operation }) };
  const issues = code === "VALIDATION_ERROR" ? getOwn(details, "errors") : undefined;
  if (issues !== undefined) report.issues = issues;
  else if (details !== undefined) report.details = details;
  if (operation !== undefined) report.message = adviseCommand(code, details, operation) ?? message;
  const [exitCode] = Object.entries(errorCodesByExitCode).find(([, codes]) => codes.includes(code)) ?? [
    exitCodes.failed,
  ];
  // An operation that ran may also report that some input is invalid: only what never ran is invalid usage.
  const hasRun = Number(exitCode) === exitCodes.usage && mayHaveRun;
  return { report, exitCode: hasRun ? exitCodes.failed : Number(exitCode) };
}

/** The messages of the library describe what a program writes instead. Here it is a command. */
function adviseCommand(code: string, details: unknown, operation: string): string | undefined {
  const meant = code === "OPERATION_NOT_FOUND" ? getOwn(details, "nearest") : undefined;
  if (typeof meant === "string") return `No operation ${quote(operation)}. Did you mean ${quote(meant)}?`;
  if (code !== "WRONG_OPERATION_TYPE") return undefined;
  return getOwn(details, "type") === "subscription"
    ? `${quote(operation)} is a subscription. Run "${program} subscribe ${operation}".`
    : `${quote(operation)} is not a subscription. Run "${program} call ${operation}".`;
}
