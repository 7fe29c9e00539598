import { isLongerThan } from "./byte-length.ts";
import { checkFrame, type WireFrame } from "./check-frame.ts";
import { isTooDeep } from "./depth.ts";
import { type FrameLimits, ownLevels } from "./encode.ts";
import { badFrame, payloadTooLarge, tooDeep } from "./errors.ts";
import { fromTagged } from "./tagged-read.ts";
import { taggedMark } from "./tags.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads one frame. Throws `PAYLOAD_TOO_LARGE`, or `BAD_RESPONSE` for text that is no frame: not JSON, too deep, unknown
 * tags, fields of a wrong type. Frames of an unknown type pass, so that a later version can add some.
 */
export function decode(message: string | Uint8Array, { maxMessage, jsonDepth }: FrameLimits): WireFrame {
  if (typeof message === "string" ? isLongerThan(message, maxMessage) : message.byteLength > maxMessage) {
    throw payloadTooLarge(maxMessage, true);
  }
  const text = typeof message === "string" ? message : readText(message);
  const isTagged = text.startsWith(taggedMark);
  const depth = jsonDepth + ownLevels;
  // One level of a map takes three in the text.
  if (isTooDeep(text, isTagged ? depth * 3 : depth)) throw tooDeep();
  const json = parse(isTagged ? text.slice(taggedMark.length) : text);
  return checkFrame(isTagged ? fromTagged(json, depth) : json);
}

function readText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw badFrame("it is not UTF-8", error);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badFrame("it is not JSON"); // the parser's message quotes the text
  }
}
