/** Bytes as base64, by Node's own code where it exists. */
export function toBase64(bytes: Uint8Array): string {
  if (typeof Buffer === "function") {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  }
  let binary = "";
  // In pieces, because the characters of a piece are arguments of one call.
  for (let start = 0; start < bytes.length; start += 8_192) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 8_192));
  }
  return btoa(binary);
}

/** Bytes as base64url without padding (RFC 4648, section 5). */
export function toBase64URL(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * The bytes of a base64 or base64url string with its padding, in a buffer of their own. Returns `undefined` for any other
 * string, also for one with white space. For large strings that this package wrote itself.
 */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 !== 0) return undefined;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const length = (text.length / 4) * 3 - padding;
  if (typeof Buffer === "function") {
    const bytes = new Uint8Array(length);
    // It skips characters that are not base64, which shows in the length.
    return Buffer.from(bytes.buffer).write(text, "base64") === length ? bytes : undefined;
  }
  const bytes = fromLooseBase64(text);
  return bytes?.length === length ? bytes : undefined;
}

/** The bytes of a base64 or base64url string, with or without padding and white space; `undefined` for any other. */
export function fromLooseBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
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
