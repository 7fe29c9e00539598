import { isObject } from "../../../internal/objects.ts";
import { redact } from "../../../internal/secrets.ts";
import { CallError } from "../../../operation/index.ts";

const maxLines = 50;
const maxLineLength = 500;

/** Keeps the last lines that a program wrote to stderr, without secrets and control characters. */
export class StderrLines {
  readonly #lines: string[] = [];
  readonly #secrets: Iterable<string>;
  #unfinished = "";

  constructor(secrets: Iterable<string>) {
    this.#secrets = secrets;
  }

  push(text: string): void {
    const parts = text.split(/\r\n|\n|\r/);
    parts[0] = this.#unfinished + parts[0];
    this.#unfinished = parts.pop()!.slice(0, maxLineLength * 2);
    // Clean only the lines that are kept: a program can write faster than all lines can be cleaned.
    const added: string[] = [];
    for (let index = parts.length - 1; index >= 0 && added.length < maxLines; index--) {
      const clean = this.#clean(parts[index]!);
      if (clean !== "") added.unshift(clean);
    }
    this.#lines.push(...added);
    this.#lines.splice(0, this.#lines.length - maxLines);
  }

  /** The kept lines, including an unfinished one. */
  get lines(): string[] {
    const last = this.#clean(this.#unfinished);
    return last === "" ? [...this.#lines] : [...this.#lines, last].slice(-maxLines);
  }

  #clean(line: string): string {
    if (line === "") return "";
    const printable = line
      .slice(0, maxLineLength * 2)
      // Remove whole escape sequences, such as colors.
      .replace(/\p{Cc}(?:\[[0-?]*[ -/]*[@-~]|\][^\p{Cc}]*)/gu, "")
      .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ")
      .trim();
    return redact(printable, this.#secrets).slice(0, maxLineLength);
  }
}

/** How a program ended. */
export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

/** Describes the end of a program, such as `The program ended with code 1`. */
export function describeEnd({ code, signal }: ProgramEnd): string {
  return `The program ended ${signal === null ? `with code ${code}` : `by ${signal}`}`;
}

/** Returns the error details about the end of a program. */
export function toEndDetails({ code, signal }: ProgramEnd): { exitCode: number | null; signal: string | null } {
  return { exitCode: code, signal };
}

/** Matches the last lines of a crash report, which follow the line with the error. */
const endOfCrashReport = /^(?:Node\.js v\d|at |\}|Bun v\d|\^)/;
const errorLine = /^(?:Uncaught |error: )*(?:\([^)]*\) )?[\w$.]*(?:Error|Exception)\b[^:]{0,60}:/i;

/**
 * Returns the stderr line that most likely explains the end of a program: the last line, or the error of a crash
 * report.
 */
export function findErrorLine(lines: readonly string[]): string | undefined {
  const last = lines.at(-1);
  if (last === undefined || !endOfCrashReport.test(last)) return last;
  return lines.findLast((line) => errorLine.test(line)) ?? last;
}

/**
 * Adds the last lines of stderr to the details of an error. If the program has ended, also adds the line that explains
 * why to the message. Use it only for errors that the operator sees: callers of operations must not receive these
 * lines.
 */
export function withStderr(error: CallError, stderr: readonly string[]): CallError {
  const line = findErrorLine(stderr);
  if (line === undefined) return error;
  const { code, message, cause, retryable, mayHaveRun } = error;
  const details = isObject(error.details) ? error.details : {};
  const output = Object.hasOwn(details, "exitCode") && !message.includes(line) ? ` Its last output: ${line}` : "";
  return new CallError(code, `${message}${output}`, { ...details, stderr }, { cause, retryable, mayHaveRun });
}
