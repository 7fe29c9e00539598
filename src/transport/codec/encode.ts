import { type CallError, isCallError, operationNotFound } from "../../operation/index.ts";
import { isLongerThan } from "./byte-length.ts";
import { findProblem } from "./check-frame.ts";
import { notSendable, payloadTooLarge } from "./errors.ts";
import { isPlain } from "./plain.ts";
import { toTaggedFrame } from "./tagged-write.ts";
import { taggedMark, toMaxParts } from "./tags.ts";

/** Bounds on one frame, at both ends of a link. */
export interface FrameLimits {
  /** Largest frame, in bytes. */
  maxMessage: number;
  /** Deepest nesting of a frame's values. */
  jsonDepth: number;
}

/** The frame and the envelope in it are levels of ours, which nobody who counts levels of a value knows of. */
export const ownLevels = 2;

/**
 * Writes a frame as one line of text: plain JSON where that carries every value as it is, else JSON with tagged lists,
 * marked by its first character. Fields of the frame itself that are `undefined` are left out. Throws `EXECUTION_ERROR`
 * with the path of what cannot travel, and `PAYLOAD_TOO_LARGE`.
 */
export function encode(frame: { type: string }, { maxMessage, jsonDepth }: FrameLimits): string {
  // A request that cannot be sent has not run; whatever else is said, is said about a call that may have.
  const mayHaveRun = frame.type !== "call.requested";
  const problem = findProblem(frame);
  if (problem !== undefined) throw wrongField(frame, problem, mayHaveRun);
  const maxDepth = jsonDepth + ownLevels;
  let text: string;
  try {
    text = isPlainFrame(frame, maxDepth - 1, toMaxParts(maxMessage))
      ? JSON.stringify(frame)
      : taggedMark + JSON.stringify(toTaggedFrame(frame, { maxDepth, maxMessage, mayHaveRun }));
  } catch (error) {
    if (isCallError(error)) throw error;
    if (error instanceof RangeError) throw payloadTooLarge(maxMessage, mayHaveRun); // longer than a string can be
    throw notSendable("reading it failed", "", { mayHaveRun, cause: error });
  }
  if (isLongerThan(text, maxMessage)) throw payloadTooLarge(maxMessage, mayHaveRun);
  return text;
}

/** An id that can be nobody's is answered as it would be where the operations are. */
function wrongField(frame: object, problem: string, mayHaveRun: boolean): CallError {
  const { operationId } = frame as { operationId?: unknown };
  if (problem === "operationId" && typeof operationId === "string") return operationNotFound(operationId);
  return notSendable("it is too long, or nothing that belongs there", `/${problem}`, { mayHaveRun });
}

function isPlainFrame(frame: object, depth: number, maxParts: number): boolean {
  try {
    for (const key in frame) {
      const value = (frame as Record<string, unknown>)[key];
      if (value !== undefined && typeof value !== "string" && !isPlain(value, depth, maxParts)) return false;
    }
    return true;
  } catch {
    return false; // a getter or a proxy; the slow way finds out where
  }
}
