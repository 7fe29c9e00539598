import { isInexactText, noteInexact, parseExactly } from "../../../internal/exact-json.ts";
import type { ResponseEnvelope } from "../../../operation/index.ts";

/** Thrown by {@link parseJSON} for text that nests too deep. */
export class TooDeep extends Error {}

/**
 * Parses JSON that came from outside, after looking how deep it nests. Numbers that lost digits are noted beside the
 * objects that hold them. A leading byte order mark is skipped.
 */
export function parseJSON(text: string, maxDepth: number): unknown {
  const json = withoutMark(text);
  // Every level costs two characters, so short text cannot nest too deep.
  if (json.length > maxDepth * 2 && nestsDeeper(json, maxDepth)) throw new TooDeep();
  return parseExactly(json);
}

/** Notes the digits of data that is one number, beside the envelope that holds it. */
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

/** Index of the quote that ends the string which begins at `start`, or -1. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (json.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return -1;
}
