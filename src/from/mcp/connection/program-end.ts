import { CallError } from "../../../operation/index.ts";
import { isObject } from "../values.ts";

/** How a program ended. */
export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

/** The last line of a crash report, below the line with the error. */
const tailOfReport = /^(?:Node\.js v\d|at |\}|Bun v\d|\^)/;
const errorLine = /^(?:Uncaught |error: )*(?:\([^)]*\) )?[\w$.]*(?:Error|Exception)\b[^:]{0,60}:/i;

/** The line of stderr that most likely explains why a program ended: the last one, or the error of a crash report. */
export function findLastWords(lines: readonly string[]): string | undefined {
  const last = lines.at(-1);
  if (last === undefined || !tailOfReport.test(last)) return last;
  return lines.findLast((line) => errorLine.test(line)) ?? last;
}

/** How a program ended, such as `The program ended with code 1`. */
export function describeEnd({ code, signal }: ProgramEnd): string {
  return `The program ended ${signal === null ? `with code ${code}` : `by ${signal}`}`;
}

/** What an error has about the end of a program. */
export function detailsOfEnd({ code, signal }: ProgramEnd): { exitCode: number | null; signal: string | null } {
  return { exitCode: code, signal };
}

/**
 * The same error with the last lines of stderr in its details, and what the program said last where it ended. Not for
 * callers of operations: the lines are for the operator.
 */
export function withStderr(error: CallError, stderr: readonly string[]): CallError {
  const last = findLastWords(stderr);
  if (last === undefined) return error;
  const { code, message, cause, retryable, mayHaveRun } = error;
  const details = isObject(error.details) ? error.details : {};
  const said = Object.hasOwn(details, "exitCode") && !message.includes(last) ? ` It said last: ${last}` : "";
  return new CallError(code, `${message}${said}`, { ...details, stderr }, { cause, retryable, mayHaveRun });
}
