/**
 * Reads what a JSON pointer (RFC 6901) points at, or `undefined` when nothing is there. Only own properties count, so
 * `/constructor` or `/length` of foreign data finds nothing. A pointer is `""` or begins with `/`; any other finds
 * nothing either.
 */
export function readPointer(value: unknown, pointer: string): unknown {
  return followPointer(value, pointer)?.value;
}

/** Like {@link readPointer}, and distinguishes `{ value: undefined }` from a pointer that leads nowhere. */
export function followPointer(value: unknown, pointer: string): { value: unknown } | undefined {
  if (pointer === "") return { value };
  if (!isPointer(pointer)) return undefined;
  let current = value;
  for (const token of pointer.slice(1).split("/")) {
    const key = unescapeToken(token);
    if (!hasElement(current, key)) return undefined;
    current = current[key];
  }
  return { value: current };
}

/** Whether a token of a pointer leads on from a value: an own property, or an element of an array. */
export function hasElement(value: unknown, key: string): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  // "01", "-" and "length" are not elements of an array.
  if (Array.isArray(value) && !/^(?:0|[1-9]\d*)$/.test(key)) return false;
  return Object.hasOwn(value, key);
}

/** Whether a string is a JSON pointer: empty, or tokens that begin with `/` and have `~` only before `0` or `1`. */
export function isPointer(text: string): boolean {
  return text === "" || (text.startsWith("/") && !/~(?![01])/.test(text));
}

/** Extends a pointer, such as `""` or `#/paths`, by keys. */
export function extendPointer(pointer: string, ...keys: ReadonlyArray<string | number>): string {
  let extended = pointer;
  for (const key of keys) extended += `/${typeof key === "number" ? key : escapeToken(key)}`;
  return extended;
}

/** Writes one property name as a token of a JSON pointer: `a/b~c` becomes `a~1b~0c`. */
export function escapeToken(key: string): string {
  return key.includes("~") || key.includes("/") ? key.replaceAll("~", "~0").replaceAll("/", "~1") : key;
}

/** Reads one token of a JSON pointer back into the property name. */
export function unescapeToken(token: string): string {
  return token.includes("~") ? token.replaceAll("~1", "/").replaceAll("~0", "~") : token;
}
