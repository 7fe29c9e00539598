/** Cuts a text to `limit` characters and says how many were left out. */
export function truncate(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}… (${text.length - limit} more characters)`;
}

/**
 * Quotes foreign text for a message: on one line, without control or invisible formatting characters, and at most
 * `limit` characters of it. An ordinary name comes out as `"name"`.
 */
export function quote(text: string, limit = 120): string {
  const cut = text.length > limit ? text.slice(0, limit) : text;
  const escaped = JSON.stringify(cut).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
  return cut === text ? escaped : `${escaped.slice(0, -1)}…"`;
}

/** Whether a string has no lone surrogate, which no UTF-8 text can hold: encoders write U+FFFD in its place. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}
