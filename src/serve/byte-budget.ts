import { FairShare } from "../call/fair-share.ts";
import { CallError } from "../operation/index.ts";

/** Maximum number of bytes of results that the servers of this process hold, from the moment a result exists until it is sent. */
const maxHeldBytes = 256 * 1024 * 1024;
/** Maximum number of these bytes for one connection or call. */
const maxHeldBytesPerConnection = 64 * 1024 * 1024;

/** The bytes of all callers. One caller cannot have all of them. */
const held = new FairShare(maxHeldBytes);

/**
 * The bytes of results that exist for one connection or call: those that were not sent, and those that are collected. Clients
 * that read slowly, or not at all, would otherwise fill the memory with one result each.
 */
export class ByteBudget {
  readonly #owner: string;
  #bytes = 0;

  /** @param owner - the caller, as `ownerOf` returns it */
  constructor(owner: string) {
    this.#owner = owner;
  }

  /** Adds bytes that now exist. Throws `LIMIT_EXCEEDED` if they must not be kept; then nothing is added. */
  add(bytes: number): void {
    if (this.#bytes + bytes > maxHeldBytesPerConnection) {
      const message = `The result is too large: the limit is ${maxHeldBytesPerConnection} bytes. Return fewer values, or a link to the data.`;
      throw heldTooMuch(message, maxHeldBytesPerConnection, false);
    }
    if (!held.take(this.#owner, bytes)) {
      const message = "The server holds too many results that were not read. Read them, and try again later.";
      throw heldTooMuch(message, maxHeldBytes, true);
    }
    this.#bytes += bytes;
  }

  /** Releases bytes that were sent; all of them by default. */
  release(bytes = this.#bytes): void {
    if (bytes === 0) return;
    this.#bytes -= bytes;
    held.release(this.#owner, bytes);
  }
}

/** The operation has run, and its result is lost. */
function heldTooMuch(message: string, allowed: number, retryable: boolean): CallError {
  return new CallError("LIMIT_EXCEEDED", message, { allowed }, { retryable, mayHaveRun: true });
}
