import { type CallRunning, type Frame, findInvalidField, type PeerEvent } from "../frames.ts";
import { isNestedDeeper } from "../json-depth.ts";
import { fromTagged } from "./tagged-read.ts";
import { badFrame, type FrameLimits, frameLevels, isLongerThan, payloadTooLarge, taggedMark } from "./wire-format.ts";

/** A frame that transports exchange besides calls. Each has its own `type`. */
export interface OtherFrame {
  /** Type of the frame. */
  type: `link.${string}`;
  /** Further fields, which depend on the type. */
  [field: string]: unknown;
}

/** Every frame that a wire can carry. */
export type WireFrame = Frame | CallRunning | PeerEvent | OtherFrame;

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads one frame. Throws `PAYLOAD_TOO_LARGE`, or `BAD_RESPONSE` for a message that is not a frame: not JSON, nested
 * too deep, with unknown tags or invalid fields. Frames of an unknown type are accepted, so that later versions can add
 * types.
 */
export function decode(message: string | Uint8Array, { maxMessage, jsonDepth }: FrameLimits): WireFrame {
  if (typeof message === "string" ? isLongerThan(message, maxMessage) : message.byteLength > maxMessage) {
    throw payloadTooLarge(maxMessage, true);
  }
  let text: string;
  try {
    text = typeof message === "string" ? message : decoder.decode(message);
  } catch (error) {
    throw badFrame("it is not UTF-8", error);
  }
  const isTagged = text.startsWith(taggedMark);
  const depth = jsonDepth + frameLevels;
  // One level of a map is three levels in the message.
  const maxNesting = isTagged ? depth * 3 : depth;
  // Every level needs two characters.
  if (text.length > maxNesting * 2 && isNestedDeeper(text, maxNesting)) throw badFrame("it is nested too deeply");
  let frame: unknown;
  try {
    frame = JSON.parse(isTagged ? text.slice(taggedMark.length) : text);
  } catch {
    throw badFrame("it is not JSON"); // no cause: the parser's message quotes the input
  }
  if (isTagged) frame = fromTagged(frame, depth);
  if (typeof frame !== "object" || frame === null || Array.isArray(frame)) throw badFrame("it is not an object");
  if (Object.hasOwn(frame, "__proto__")) throw badFrame("it has a field __proto__");
  const { type } = frame as { type?: unknown };
  if (typeof type !== "string") throw badFrame("it has no type");
  const invalid = findInvalidField(frame);
  if (invalid !== undefined) throw badFrame(`${invalid} of ${type} is invalid`);
  return frame as unknown as WireFrame;
}
