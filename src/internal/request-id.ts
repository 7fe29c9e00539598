import { toBase64URL } from "./base64.ts";

/** A fresh id of at least 122 random bits. Other ids of this process cannot be derived from it. */
export function createId(): string {
  // Browsers have `randomUUID` on secure pages only.
  return toOnePiece(crypto.randomUUID?.() ?? toBase64URL(crypto.getRandomValues(new Uint8Array(18))));
}

let prefix: string | undefined;
let count = 0;

/**
 * A fresh id that no other process has: a random prefix and a counter. Other ids of this process can be derived from it, so it
 * is for requests that only their server can reply to. Takes a tenth of the time of {@link createId}.
 */
export function nextRequestId(): string {
  prefix ??= `${createId()}-`;
  count += 1;
  return toOnePiece(prefix + count);
}

/** A string that was concatenated stays a tree until it is read, and a `Map` finds it several times as slowly. */
function toOnePiece(id: string): string {
  return id.charCodeAt(0) < 0 ? "" : id;
}

export { createId as randomRequestId };
