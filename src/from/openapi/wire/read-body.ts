import { isInexactText, noteInexact, parseExactly } from "../../../internal/exact-json.ts";
import type { ResponseEnvelope } from "../../../operation/index.ts";

/** Thrown by {@link readBody} if a body exceeds the limit. */
export class BodyTooLarge extends Error {}

/**
 * Reads a whole body and counts its decoded bytes as they arrive, so that a small compressed response cannot exhaust
 * the memory. Above the limit, it closes the connection immediately.
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

/** Cancels a body that is not read, to release its connection. */
export function abandon(body: ReadableStream | null): void {
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

/** Thrown by {@link parseJSON} for JSON that is nested too deeply. */
export class TooDeep extends Error {}

/**
 * Parses foreign JSON after checking its depth. Numbers that lost digits are recorded beside the objects that contain
 * them. A leading byte order mark is skipped.
 */
export function parseJSON(text: string, maxDepth: number): unknown {
  const json = withoutMark(text);
  // Every level needs two characters, so a short string cannot be nested too deeply.
  if (json.length > maxDepth * 2 && nestsDeeper(json, maxDepth)) throw new TooDeep();
  return parseExactly(json);
}

/** Records the digits of data that is a single number, beside its envelope. */
export function noteNumber(envelope: ResponseEnvelope, text: string): void {
  if (typeof envelope.data !== "number") return;
  const digits = withoutMark(text).trim();
  if (isInexactText(digits)) noteInexact(envelope, "data", digits);
}

function withoutMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

function nestsDeeper(json: string, maxDepth: number): boolean {
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
