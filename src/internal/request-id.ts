import { toBase64URL } from "./base64.ts";

/** A fresh id of at least 122 random bits. Other ids of this process cannot be derived from it. */
export function createId(): string {
  // Browsers have `randomUUID` on secure pages only.
  return crypto.randomUUID?.() ?? toBase64URL(crypto.getRandomValues(new Uint8Array(18)));
}

export { createId as nextRequestId, createId as randomRequestId };
