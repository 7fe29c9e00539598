import { toBase64URL } from "./base64.ts";

/** Returns a new id with at least 122 random bits. Other ids of this process cannot be derived from it. */
export function createId(): string {
  // Browsers have `randomUUID` on secure pages only.
  return flatten(crypto.randomUUID?.() ?? toBase64URL(crypto.getRandomValues(new Uint8Array(18))));
}

const sequence = { prefix: "", count: 0 };

/**
 * Returns a new id that is unique across processes: a random prefix and a counter. Other ids of this process, and their
 * number, can be derived from it. Use it only where no other caller sees it, for requests that only their server can
 * reply to. Takes a tenth of the time of {@link createId}.
 */
export function nextRequestId(): string {
  if (sequence.prefix === "") sequence.prefix = `${createId()}-`;
  return flatten(sequence.prefix + ++sequence.count);
}

/** Flattens a concatenated string, because a `Map` lookup with a string in tree form is several times slower. */
function flatten(id: string): string {
  return id.charCodeAt(0) < 0 ? "" : id;
}
