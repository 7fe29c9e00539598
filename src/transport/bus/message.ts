import { monotonicNow } from "../../internal/deadlines.ts";
import type { CallRequested } from "../transport.ts";
import { badMessage, messageTooLarge } from "./errors.ts";

/** What the line begins with that tells who sends. No frame begins like this. */
const senderMark = "@";
/** Addresses are short, and kept. */
const maxSenderLength = 1_024;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** A request as peers on a bus send it. */
export interface StampedRequest extends CallRequested {
  /** Milliseconds of the asker's own monotonic clock. A claim, as everything in a frame. */
  sentAt?: unknown;
}

/** Notes in a request when it leaves. In the request itself: writing a copy takes several times as long. */
export function stamp(frame: StampedRequest): StampedRequest {
  frame.sentAt = Math.floor(monotonicNow());
  return frame;
}

/** A message that says who sends it, so that the one who gets it can tell the calls of one peer from another's. */
export function withSender(address: string, text: string): string {
  return `${senderMark}${address}\n${text}`;
}

/**
 * The sender of a message, empty when it does not say, and its frames as texts, one after the other: a message may be
 * all line feeds. Throws `BAD_RESPONSE`.
 */
export function readMessage(
  message: string | Uint8Array,
  maxLength: number,
): { from: string; frames: Iterable<string> } {
  if (message.length > maxLength) throw messageTooLarge();
  const text = typeof message === "string" ? message : toText(message);
  if (!text.includes("\n")) return { from: "", frames: [text] };
  if (!text.startsWith(senderMark)) return { from: "", frames: readLines(text, 0) };
  const end = text.indexOf("\n");
  if (end > maxSenderLength) throw messageTooLarge();
  return { from: text.slice(senderMark.length, end), frames: readLines(text, end + 1) };
}

function* readLines(text: string, start: number): Iterable<string> {
  let from = start;
  for (let end = text.indexOf("\n", from); end !== -1; end = text.indexOf("\n", from)) {
    yield text.slice(from, end);
    from = end + 1;
  }
  yield from === 0 ? text : text.slice(from);
}

function toText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw badMessage(error);
  }
}
