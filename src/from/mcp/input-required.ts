import { quote } from "../../internal/text.ts";
import { CallError, type CallErrorOptions } from "../../operation/index.ts";

const problems = {
  /** It asks its user, and there is nobody. */
  unanswered: "asks its user for input, and nobody answers. Give the server's configuration an onElicit function.",
  /** It asks for sampling, roots or the like. */
  notOffered: "asks for something that servers are not offered here.",
  /** It was answered, and asks again. */
  endless: "asks for input again and again.",
};

/** `INPUT_REQUIRED`: the server needs something to go on with a call that it does not get. */
export function inputRequired(
  operationId: string,
  problem: keyof typeof problems = "unanswered",
  details: object = {},
  options: CallErrorOptions = {},
): CallError {
  const message = `${quote(operationId)} ${problems[problem]}`;
  return new CallError("INPUT_REQUIRED", message, { operationId, ...details }, options);
}
