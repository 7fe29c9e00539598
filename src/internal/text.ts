/** Shortens a string to at most `limit` characters, the last of which is `…`. Never splits a surrogate pair. */
export function truncate(text: string, limit: number): string {
  return text.length <= limit ? text : `${cut(text, limit - 1)}…`;
}

/**
 * Quotes a foreign string for a message: on one line, without control or invisible formatting characters, and at most
 * `limit` characters of it. An ordinary name becomes `"name"`.
 */
export function quote(text: string, limit = 120): string {
  const shown = text.length > limit ? cut(text, limit) : text;
  const escaped = JSON.stringify(shown).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
  return shown === text ? escaped : `${escaped.slice(0, -1)}…"`;
}

/**
 * Makes a foreign string safe for a terminal: control and invisible formatting characters become visible escapes, as in
 * JSON, so that they cannot move the cursor, change colors or reorder the text. Line feeds and tabs stay.
 */
export function toPrintable(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
}

/** Describes a foreign value for a message: short, on one line, and without the contents of an object. */
export function describeValue(value: unknown): string {
  if (typeof value === "string") return quote(value, 100);
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "function" || typeof value === "symbol" ? `a ${typeof value}` : String(value);
}

function cut(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

/**
 * Returns the message of an error without its full stop, for the end of a sentence. Errors about several addresses of one
 * host name have a code instead of a message.
 */
export function toReason(error: unknown): string {
  const { message, code } = (error ?? {}) as { message?: unknown; code?: unknown };
  return String(message || code || error).replace(/\.$/, "");
}
