import { isClassless } from "../../internal/instances.ts";

/** Tells objects that are data from those that are values of a class. Works across realms. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && isClassless(value);
}

/** Sets an own property, also one called `__proto__`. */
export function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    target[key] = value;
  }
}

/** Whether the object itself has a value there. `inherited` is {@link isInheritedName} of the key, known beforehand. */
export function hasValue(object: Record<string, unknown>, key: string, inherited: boolean): boolean {
  return object[key] !== undefined && (!inherited || Object.hasOwn(object, key));
}

/** Whether every object answers to this name, so that reading it says nothing about the object itself. */
export function isInheritedName(key: string): boolean {
  return key in Object.prototype;
}

/** Copies arrays and plain objects; everything else is shared. */
export function cloneData(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cloneData);
  if (!isPlainObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) setOwn(copy, key, cloneData(value[key]));
  return copy;
}
