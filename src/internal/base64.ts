/** Bytes of an `ArrayBuffer`. `Uint8Array` has no type parameter before TypeScript 5.7, which must read declarations too. */
export type Bytes = ReturnType<typeof Uint8Array.from>;

/** Encodes bytes as base64. Uses `Buffer` in Node. */
export function toBase64(bytes: Uint8Array): string {
  if (typeof Buffer === "function") {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  }
  let binary = "";
  // In chunks, because the characters of a chunk are arguments of one call.
  for (let start = 0; start < bytes.length; start += 8_192) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 8_192));
  }
  return btoa(binary);
}

/** Encodes bytes as base64url without padding (RFC 4648, section 5). */
export function toBase64URL(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * Decodes a base64 or base64url string with padding into a new buffer. Returns `undefined` for any other string, also for
 * one with white space. Use it for large strings that this package encoded.
 */
export function fromBase64(text: string): Bytes | undefined {
  if (text.length % 4 !== 0) return undefined;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const length = (text.length / 4) * 3 - padding;
  if (typeof Buffer === "function") {
    const bytes = new Uint8Array(length);
    // `write` skips characters that are not base64, so the length reveals them.
    return Buffer.from(bytes.buffer).write(text, "base64") === length ? bytes : undefined;
  }
  const bytes = fromLooseBase64(text);
  return bytes?.length === length ? bytes : undefined;
}

/** Decodes a base64 or base64url string, with or without padding and white space; `undefined` for any other string. */
export function fromLooseBase64(text: string): Bytes | undefined {
  let binary: string;
  try {
    binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return undefined;
  }
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}
