import { getOwn, isObject, type JSONObject } from "../../internal/objects.ts";

/** Reads an own property; `undefined` unless it is an object. */
export function ownObject(value: unknown, key: string): JSONObject | undefined {
  const found = getOwn(value, key);
  return isObject(found) ? found : undefined;
}

/** Reads an own property; an empty list unless it is an array. */
export function ownList(value: unknown, key: string): unknown[] {
  const found = getOwn(value, key);
  return Array.isArray(found) ? found : [];
}

/** Reads an own property; `undefined` unless it is a string that is not empty. */
export function ownString(value: unknown, key: string): string | undefined {
  const found = getOwn(value, key);
  return typeof found === "string" && found !== "" ? found : undefined;
}

/** Reads the strings in an own property that is an array; other members are ignored. */
export function ownStrings(value: unknown, key: string): string[] {
  return ownList(value, key).filter((item) => typeof item === "string");
}
