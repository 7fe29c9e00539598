/**
 * Returns the value at a JSON pointer (RFC 6901), or `undefined` if it does not exist. Only own properties are read, so
 * `/constructor` or `/length` finds nothing in foreign data. A pointer is `""` or begins with `/`; any other string finds
 * nothing.
 */
export function readPointer(value: unknown, pointer: string): unknown {
  return followPointer(value, pointer)?.value;
}

/** Like {@link readPointer}, but distinguishes an existing `undefined` from a value that does not exist. */
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

/** Returns whether a value has an element for a token of a pointer: an own property, or an array element. */
export function hasElement(value: unknown, key: string): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  // "01", "-" and "length" are not elements of an array.
  if (Array.isArray(value) && !/^(?:0|[1-9]\d*)$/.test(key)) return false;
  return Object.hasOwn(value, key);
}

/** Returns whether a string is a JSON pointer: empty, or tokens that begin with `/` and have `~` only before `0` or `1`. */
export function isPointer(text: string): boolean {
  return text === "" || (text.startsWith("/") && !/~(?![01])/.test(text));
}

/** Extends a pointer, such as `""` or `#/paths`, by keys. */
export function extendPointer(pointer: string, ...keys: ReadonlyArray<string | number>): string {
  let extended = pointer;
  for (const key of keys) extended += `/${typeof key === "number" ? key : escapeToken(key)}`;
  return extended;
}

/** Escapes one property name as a token of a JSON pointer: `a/b~c` becomes `a~1b~0c`. */
export function escapeToken(key: string): string {
  return key.includes("~") || key.includes("/") ? key.replaceAll("~", "~0").replaceAll("/", "~1") : key;
}

/** Converts one token of a JSON pointer to the property name. */
export function unescapeToken(token: string): string {
  return token.includes("~") ? token.replaceAll("~1", "/").replaceAll("~0", "~") : token;
}
