import { quote } from "../internal/text.ts";
import { type CallError, checkCallOptions, checkPastDeadline, type SubscribeOptions } from "../operation/inside.ts";
import { toJSONText } from "../transport/json-text.ts";

// What explains failures that a page rarely meets: loaded with the first one.

export { findNetworkFailure } from "../transport/network-error.ts";

/** Returns the error of invalid options; `undefined` if they are valid. */
export function checkOptions(id: string, options: SubscribeOptions): CallError | undefined {
  return checkCallOptions(id, options) ?? checkPastDeadline(id, options.deadline);
}

/** Returns the JSON of an input. Throws `EXECUTION_ERROR` with the path of a value that JSON cannot carry. */
export function toInputText(id: string, input: unknown): string | undefined {
  return toJSONText(input, `input of ${quote(id)}`, undefined, { mayHaveRun: false });
}
