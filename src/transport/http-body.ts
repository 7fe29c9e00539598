import type { Bytes } from "../internal/base64.ts";

/** Thrown by {@link readBody} if a body exceeds the limit. */
export class BodyTooLarge extends Error {}

/**
 * Reads the whole body of a request or response and counts its decoded bytes as they arrive, so that a small compressed
 * body cannot exhaust the memory. Above the limit, it stops reading immediately.
 */
export async function readBody(message: Request | Response, limit: number): Promise<Bytes> {
  const { body } = message;
  if (body === null) return new Uint8Array(0);
  if (Number(message.headers.get("content-length")) > limit) {
    cancelBody(body);
    throw new BodyTooLarge();
  }
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.byteLength;
    if (size > limit) {
      reader.cancel().catch(ignore);
      throw new BodyTooLarge();
    }
    chunks.push(part.value);
  }
  return chunks.length === 1 ? (chunks[0] as Bytes) : concatenate(chunks, size);
}

/** Cancels a body that is not read, to release its connection. */
export function cancelBody(body: ReadableStream | null): void {
  // A failed body is already cancelled.
  body?.cancel().catch(ignore);
}

function ignore(): void {}

function concatenate(chunks: Uint8Array[], size: number): Bytes {
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}
