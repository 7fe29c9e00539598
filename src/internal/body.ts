/** Thrown by {@link readBody} if a body exceeds the limit. */
export class BodyTooLarge extends Error {}

/**
 * Reads the whole body of a request or response and counts its decoded bytes as they arrive, so that a small compressed
 * body cannot exhaust the memory. Above the limit, it stops reading immediately.
 */
export async function readBody(message: Request | Response, limit: number): Promise<Uint8Array<ArrayBuffer>> {
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
  return chunks.length === 1 ? (chunks[0] as Uint8Array<ArrayBuffer>) : concatenate(chunks, size);
}

/** Cancels a body that is not read, to release its connection. */
export function cancelBody(body: ReadableStream | null): void {
  // A failed body is already cancelled.
  body?.cancel().catch(ignore);
}

function ignore(): void {}

function concatenate(chunks: Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}

/** Returns whether JSON is nested more than `maxDepth` levels deep. Call before parsing: deep values overflow the stack later. */
export function isNestedDeeper(json: string, maxDepth: number): boolean {
  // Every level needs two characters, so a short string cannot be nested too deeply.
  if (json.length <= maxDepth * 2) return false;
  let depth = 0;
  for (let index = 0; index < json.length; index++) {
    switch (json.charCodeAt(index)) {
      case 0x22:
        index = endOfString(json, index);
        if (index === -1) return false;
        break;
      case 0x5b:
      case 0x7b:
        if (++depth > maxDepth) return true;
        break;
      case 0x5d:
      case 0x7d:
        depth--;
        break;
    }
  }
  return false;
}

/** Returns the index of the quote that ends the string beginning at `start`, or -1. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (json.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return -1;
}
