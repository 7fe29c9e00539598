/** Binary content in JSON form: what a caller without binary values passes. */
export interface Base64File {
  base64: string;
  filename?: string;
  type?: string;
  /** For a part of a multipart body: values of the headers that the document declares for it. */
  headers?: Record<string, string>;
}

/** Whether a value is binary by its class. */
export function isBinary(value: unknown): value is ArrayBuffer | ArrayBufferView | Blob | ReadableStream<Uint8Array> {
  if (typeof value !== "object" || value === null) return false;
  return (
    value instanceof Blob ||
    value instanceof ArrayBuffer ||
    ArrayBuffer.isView(value) ||
    value instanceof ReadableStream
  );
}

const fileKeys = new Set(["base64", "filename", "type", "headers"]);

/** Whether a value is a file in JSON form: a `base64` text and nothing that a file does not have. */
export function isBase64File(value: unknown): value is Base64File {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  if (!Object.hasOwn(value, "base64") || typeof (value as Base64File).base64 !== "string") return false;
  return Object.keys(value).every((key) => fileKeys.has(key));
}

/** The bytes of base64 or base64url text, or `undefined` when it is not that. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = new Uint8Array(binary.length);
    for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
    return bytes;
  } catch {
    return undefined;
  }
}

/** Base64 of a text's UTF-8 bytes. */
export function toBase64(text: string): string {
  let binary = "";
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return btoa(binary);
}
