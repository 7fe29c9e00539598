/** Thrown by {@link readBody} when there is more than the limit allows. */
export class BodyTooLarge extends Error {}

/**
 * Reads a body whole and counts its decoded bytes as they come, so that a small compressed answer cannot fill the memory. Over the
 * limit the connection is given up at once.
 */
export async function readBody(response: Response, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const { body } = response;
  if (body === null) return new Uint8Array(0);
  if (Number(response.headers.get("content-length")) > limit) {
    abandon(body);
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

/** Gives up a body that nobody will read, so that its connection is free again. */
export function abandon(body: ReadableStream | null): void {
  // A body that failed before is already given up.
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
