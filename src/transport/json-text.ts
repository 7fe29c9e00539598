import { CallError, type CallErrorOptions, validationError } from "../operation/inside.ts";
import { isJSON } from "./is-json.ts";
import { isNestedDeeper } from "./json-depth.ts";
import { describeUnsendable, findUnsendable, maxLevels, type Unsendable } from "./unsendable.ts";

/**
 * Returns the JSON of a value, in which a `Date` is its ISO string; `undefined` for `undefined`. Throws `EXECUTION_ERROR`
 * with the path of a value that JSON cannot carry.
 * @param label - names the value in the message
 */
export function toJSONText(
  value: unknown,
  label = "result",
  maxDepth = maxLevels,
  options: CallErrorOptions = {},
): string | undefined {
  if (value === undefined) return undefined;
  const fail = (found: Unsendable, more: CallErrorOptions) =>
    new CallError("EXECUTION_ERROR", `The ${label} ${describeUnsendable(found)}.`, found, more);
  let found: Unsendable | undefined;
  try {
    if (isJSON(value, maxDepth)) return JSON.stringify(value);
    found = findUnsendable(value, maxDepth);
    if (found === undefined) return JSON.stringify(value);
  } catch (cause) {
    throw fail({ path: "", reason: "reading it failed" }, { ...options, cause }); // A getter or `toJSON` threw.
  }
  throw fail(found, options);
}

/**
 * Parses JSON of a client. Throws `VALIDATION_ERROR` if it is malformed or nested too deeply.
 * @param label - names the value in messages
 * @param path - JSON pointer to the value in what the label names
 */
export function parseJSON(text: string, maxDepth: number, label: string, path = ""): unknown {
  // Every level needs two characters, so a short string cannot be nested too deeply.
  const isTooDeep = text.length > 2 * maxDepth && isNestedDeeper(text, maxDepth);
  try {
    if (!isTooDeep) return JSON.parse(text);
  } catch {
    // Without a cause: the message of the parser quotes the input.
  }
  const message = isTooDeep ? `must not be nested more than ${maxDepth} levels deep` : "must be valid JSON";
  throw validationError(label, [{ path, message }]);
}
