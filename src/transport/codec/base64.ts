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

/** The bytes of a base64 text in a buffer of their own, or `undefined` when the text is not base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 !== 0) return undefined;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  if (typeof Buffer === "function") {
    // It skips what is not base64, which shows in the length.
    return Buffer.from(bytes.buffer).write(text, "base64") === bytes.length ? bytes : undefined;
  }
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    return undefined;
  }
  if (binary.length !== bytes.length) return undefined; // it skips white space
  for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}
