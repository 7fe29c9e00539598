import { quote, truncate } from "../internal/text.ts";
import { CallError } from "./error.ts";

/** One reason why a value does not match a schema. */
export interface ValueProblem {
  /** JSON pointer into the value; `""` is the value itself. */
  path: string;
  message: string;
}

/** Maximum number of problems that an error lists; `details.total` counts all of them. */
const maxListedProblems = 20;

/** `VALIDATION_ERROR`. `label` names the checked value, such as `input of "task.create"`; `total` counts omitted problems too. */
export function validationError(label: string, errors: readonly ValueProblem[], total = errors.length): CallError {
  const details = { errors: errors.slice(0, maxListedProblems), total };
  const message = `Invalid ${label}: ${summarize(errors, total)}`;
  return new CallError("VALIDATION_ERROR", message, details, { mayHaveRun: false });
}

/** `OUTPUT_INVALID`: the operation ran, and under `strict` its output does not match its `outputSchema`. */
export function outputInvalid(id: string, errors: readonly ValueProblem[], total = errors.length): CallError {
  const details = { operationId: id, errors: errors.slice(0, maxListedProblems), total };
  return new CallError("OUTPUT_INVALID", `Invalid output of ${quote(id)}: ${summarize(errors, total)}`, details);
}

function summarize(errors: readonly ValueProblem[], total: number): string {
  const shown = errors.slice(0, 3).map(({ path, message }) => {
    const text = truncate(message, 200).replace(/\.$/, "");
    if (path === "") return /^(?:must|is|could)\b/.test(text) ? `it ${text}` : text;
    // Messages of other libraries can be sentences of their own.
    return `${truncate(path, 200)}${/^[a-z]/.test(text) ? "" : ":"} ${text}`;
  });
  const hidden = total - shown.length;
  return `${shown.join("; ")}${hidden > 0 ? ` (and ${hidden} more)` : ""}.`;
}
