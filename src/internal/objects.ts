import { describeValue } from "./text.ts";

/** A JSON object. Read properties of foreign objects with {@link getOwn}. */
export type JSONObject = Record<string, unknown>;

/** Returns whether a value is an object: neither `null`, nor an array, nor a primitive. Instances of classes are objects. */
export function isObject(value: unknown): value is JSONObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Throws a `TypeError` unless the argument of a function is an object. `example` is a correct call of the function. */
export function assertObject(name: string, value: unknown, example: string): void {
  if (isObject(value)) return;
  throw new TypeError(`${name}() takes an object, not ${describeValue(value)}. Example: ${example}.`);
}

/** Returns whether a value is an object, and also after JSON: a method `toJSON` could convert it to another value. */
export function isJSONObject(value: unknown): value is JSONObject {
  return isObject(value) && typeof value["toJSON"] !== "function";
}

/** Returns whether a value is an object without a class, such as a literal. Works across realms. */
export function isDataObject(value: unknown): value is JSONObject {
  return typeof value === "object" && value !== null && isClassless(value);
}

/** Reads an own property of a value. Returns `undefined` where it is missing, also for inherited names. */
export function getOwn(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as JSONObject)[key]
    : undefined;
}

/** Sets an own property, also one named `__proto__`: assigning to that name would set the prototype instead. */
export function setOwn(target: JSONObject, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}

/** Returns a copy without the properties that are `undefined`. */
export function withoutUndefined<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T;
}

/** Returns a copy with other values for some properties. Getters are copied and not called, so that lazy values stay lazy. */
export function copyWith<T extends object>(source: T, changes: object): T {
  const properties = { ...Object.getOwnPropertyDescriptors(source), ...Object.getOwnPropertyDescriptors(changes) };
  return Object.create(Object.getPrototypeOf(source), properties);
}

/** Returns whether an own property is a getter, so that reading it would create its value. */
export function hasGetter(object: object, name: string): boolean {
  // Most of these properties are missing, and reading a descriptor takes much longer than `hasOwn`.
  return Object.hasOwn(object, name) && Object.getOwnPropertyDescriptor(object, name)?.get !== undefined;
}

/**
 * Copies a property that is not `undefined`, as `copy` returns it. A getter is not called: the property of `target` then
 * reads that of `source` each time it is read.
 */
export function copyProperty(source: object, name: string, target: object, copy = (value: unknown) => value): void {
  if (hasGetter(source, name)) {
    const get = () => (source as JSONObject)[name];
    Object.defineProperty(target, name, { get, enumerable: true, configurable: true });
  } else {
    const value = (source as JSONObject)[name];
    if (value !== undefined) (target as JSONObject)[name] = copy(value);
  }
}

/** Returns whether an object has no class: its prototype is `Object.prototype` of any realm, or missing. */
export function isClassless(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype === Object.prototype || prototype === null) return true;
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, "hasOwnProperty");
}
