import { monotonicNow } from "../../internal/deadlines.ts";
import type { CallRequested } from "../transport.ts";
import { badMessage } from "./errors.ts";

/** What the line begins with that tells who sends. No frame begins like this. */
const senderMark = "@";
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

/** The sender of a message, empty when it does not say, and its frames as texts. Throws `BAD_RESPONSE`. */
export function readMessage(message: string | Uint8Array): { from: string; frames: string[] } {
  const text = typeof message === "string" ? message : toText(message);
  const lines = text.includes("\n") ? text.split("\n") : [text];
  const from = text.startsWith(senderMark) ? lines.shift()!.slice(senderMark.length) : "";
  return { from, frames: lines };
}

function toText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw badMessage(error);
  }
}
