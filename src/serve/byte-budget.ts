import { FairShare } from "../call/fair-share.ts";
import { CallError } from "../operation/index.ts";

/** Maximum number of bytes of results that the servers of this process hold, from the moment a result exists until it is sent. */
const maxHeldBytes = 256 * 1024 * 1024;
/** Maximum number of these bytes for one result. A connection sends one result at a time. */
const maxHeldBytesPerResult = 64 * 1024 * 1024;

/** The bytes of all callers. One caller cannot have all of them. */
const held = new FairShare(maxHeldBytes);

/**
 * Counts bytes of a result from the moment it exists: those that were not sent, and those that are collected. Clients that read
 * slowly, or not at all, would otherwise fill the memory with one result each. Returns a function that releases them once.
 * Throws `LIMIT_EXCEEDED` if they must not be kept.
 * @param owner - whose share the bytes use, such as the `owner` of a caller
 */
export function holdBytes(owner: string, bytes: number): () => void {
  if (bytes > maxHeldBytesPerResult) {
    const message = `The result is too large: the limit is ${maxHeldBytesPerResult} bytes. Return fewer values, or a link to the data.`;
    throw heldTooMuch(message, maxHeldBytesPerResult, false);
  }
  if (!held.take(owner, bytes)) {
    const message = "The server holds too many results that were not read. Read them, and try again later.";
    throw heldTooMuch(message, maxHeldBytes, true);
  }
  let isHeld = true;
  return () => {
    if (isHeld) held.release(owner, bytes);
    isHeld = false;
  };
}

/** The operation has run, and its result is lost. */
function heldTooMuch(message: string, allowed: number, retryable: boolean): CallError {
  return new CallError("LIMIT_EXCEEDED", message, { allowed }, { retryable, mayHaveRun: true });
}
