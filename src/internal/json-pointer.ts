/**
 * Reads what a JSON pointer (RFC 6901) points at, or `undefined` when nothing is there. Only own properties count, so
 * `/constructor` or `/length` of foreign data finds nothing. A pointer is `""` or begins with `/`; any other finds
 * nothing either.
 */
export function readPointer(value: unknown, pointer: string): unknown {
  if (pointer === "") return value;
  if (!isPointer(pointer)) return undefined;
  let current = value;
  for (const token of pointer.slice(1).split("/")) {
    if (typeof current !== "object" || current === null) return undefined;
    const key = unescapeToken(token);
    // "01", "-" and "length" are not elements of a list.
    if (Array.isArray(current) && !/^(?:0|[1-9]\d*)$/.test(key)) return undefined;
    if (!Object.hasOwn(current, key)) return undefined;
    current = (current as Record<string, unknown>)[key];
  }
  return current;
}

/** Tells whether a text is a JSON pointer: empty, or `/`-led tokens in which `~` only stands before `0` or `1`. */
export function isPointer(text: string): boolean {
  return text === "" || (text.startsWith("/") && !/~(?![01])/.test(text));
}

/** Writes one property name as a token of a JSON pointer: `a/b~c` becomes `a~1b~0c`. */
export function escapeToken(key: string): string {
  return key.includes("~") || key.includes("/") ? key.replaceAll("~", "~0").replaceAll("/", "~1") : key;
}

/** Reads one token of a JSON pointer back into the property name. */
export function unescapeToken(token: string): string {
  return token.includes("~") ? token.replaceAll("~1", "/").replaceAll("~0", "~") : token;
}
