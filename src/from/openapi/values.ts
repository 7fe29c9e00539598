/** A JSON object of a foreign document. Read its properties with `own`, which never reaches a prototype. */
export type JSONObject = Record<string, unknown>;

/** Tells objects from arrays and everything else. */
export function isObject(value: unknown): value is JSONObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads an own property; `undefined` where there is none, also for `constructor` and its like. */
export function own(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as JSONObject)[key]
    : undefined;
}

/** Reads an own property that must be an object to count. */
export function ownObject(value: unknown, key: string): JSONObject | undefined {
  const found = own(value, key);
  return isObject(found) ? found : undefined;
}

/** Reads an own property that must be a list to count; otherwise nothing is in it. */
export function ownList(value: unknown, key: string): unknown[] {
  const found = own(value, key);
  return Array.isArray(found) ? found : [];
}

/** Reads an own property that must be a text with something in it to count. */
export function ownText(value: unknown, key: string): string | undefined {
  const found = own(value, key);
  return typeof found === "string" && found !== "" ? found : undefined;
}

/** Reads the texts of a list; other members are left out. */
export function ownTexts(value: unknown, key: string): string[] {
  return ownList(value, key).filter((item) => typeof item === "string");
}

/** Sets an own property, also one called `__proto__`. */
export function put(target: JSONObject, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}

/** One token of a JSON pointer. */
export function pointerToken(key: string | number): string {
  return String(key).replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Extends a pointer such as `#/paths` by keys. */
export function pointerTo(pointer: string, ...keys: Array<string | number>): string {
  return keys.reduce<string>((path, key) => `${path}/${pointerToken(key)}`, pointer);
}
