import { type CallError, isCallError, operationNotFound } from "../../operation/inside.ts";
import { findInvalidField } from "../frames.ts";
import { toTaggedFrame } from "./tagged-write.ts";
import {
  type FrameLimits,
  frameLevels,
  isLongerThan,
  minPartBytes,
  notSendable,
  payloadTooLarge,
  taggedMark,
} from "./wire-format.ts";

/**
 * Writes a frame as one line. Uses JSON if it carries every value unchanged, otherwise JSON with tagged lists, marked
 * by the first character. Omits `undefined` fields of the frame itself. Throws `PAYLOAD_TOO_LARGE`, or
 * `EXECUTION_ERROR` with the path of a value that cannot be sent.
 */
export function encode(frame: { type: string }, { maxMessage, jsonDepth }: FrameLimits): string {
  // A request that cannot be sent has not run. Any other frame belongs to a call that may have run.
  const mayHaveRun = frame.type !== "call.requested";
  const invalid = findInvalidField(frame);
  if (invalid !== undefined) throw invalidField(frame, invalid, mayHaveRun);
  const maxDepth = jsonDepth + frameLevels;
  let text: string;
  try {
    text = isJSONSafe(frame, maxDepth - 1, maxMessage / minPartBytes)
      ? JSON.stringify(frame)
      : taggedMark + JSON.stringify(toTaggedFrame(frame, { maxDepth, maxMessage, mayHaveRun }));
  } catch (error) {
    if (isCallError(error)) throw error;
    if (error instanceof RangeError) throw payloadTooLarge(maxMessage, mayHaveRun); // exceeds the maximum string length
    throw notSendable("reading it failed", "", { mayHaveRun, cause: error });
  }
  if (isLongerThan(text, maxMessage)) throw payloadTooLarge(maxMessage, mayHaveRun);
  return text;
}

/** Creates the error for an invalid field. For an invalid operation id, it is the same error as on the server. */
function invalidField(frame: object, name: string, mayHaveRun: boolean): CallError {
  const { operationId } = frame as { operationId?: unknown };
  if (name === "operationId" && typeof operationId === "string") return operationNotFound(operationId);
  return notSendable("it has an invalid type or is too long", `/${name}`, { mayHaveRun });
}

let partsLeft = 0;

/**
 * Returns whether `JSON.stringify` carries every field of a frame unchanged. Returns false if unsure, or if a limit is
 * exceeded. Runs for every frame, so it visits each part once and allocates nothing.
 */
function isJSONSafe(frame: object, maxDepth: number, maxParts: number): boolean {
  partsLeft = maxParts;
  try {
    for (const key in frame) {
      const value = (frame as Record<string, unknown>)[key];
      if (value !== undefined && typeof value !== "string" && !isSafeValue(value, maxDepth)) return false;
    }
    return true;
  } catch {
    return false; // a getter or a proxy threw; the tagged writer reports its path
  }
}

function isSafeValue(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      // Subtracting NaN or an infinity from itself yields NaN.
      return value === 0 ? 1 / value > 0 : value - value === 0;
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (depth <= 0) return false;
  const prototype = Object.getPrototypeOf(value);
  if (Array.isArray(value)) {
    partsLeft -= value.length + 1;
    if (prototype !== Array.prototype || partsLeft < 0) return false;
    for (let index = 0; index < value.length; index++) if (!isSafeValue(value[index], depth - 1)) return false;
    return true;
  }
  if (prototype !== Object.prototype && prototype !== null) return false;
  if (--partsLeft < 0) return false;
  for (const key in value) if (!isSafeValue((value as Record<string, unknown>)[key], depth - 1)) return false;
  return true;
}
