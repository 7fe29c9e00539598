import type { Bytes } from "../internal/base64.ts";
import { CallError, type CallErrorOptions } from "../operation/index.ts";
import { isJSON } from "./is-json.ts";
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

/** Returns the bytes of a buffer or a view of one, which JSON cannot carry; `undefined` for any other value. */
export function readBytes(value: unknown): Bytes | undefined {
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer as ArrayBuffer, value.byteOffset, value.byteLength);
  }
  return value instanceof ArrayBuffer ? new Uint8Array(value) : undefined;
}
