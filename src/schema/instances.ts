import { isClassless } from "../internal/objects.ts";

const wireClasses = [Date, Map, Set, Error, ArrayBuffer];

/** Returns whether an object is one of the built-in values that the wire format encodes. */
export function isWireValue(object: object): boolean {
  return ArrayBuffer.isView(object) || wireClasses.some((wireClass) => object instanceof wireClass);
}

/**
 * Returns whether a class instance has state outside its own enumerable properties, which a copy of these would lose silently:
 * objects of the platform such as `Blob`, `Headers` and streams, and instances without own properties of a class that
 * has members.
 */
export function hidesState(object: object): boolean {
  if (isClassless(object)) return false;
  return isPlatformObject(object) || (Object.keys(object).length === 0 && hasMembers(object));
}

function isPlatformObject(object: object): boolean {
  if (object instanceof RegExp) return true;
  const { [Symbol.asyncIterator]: iterate, [Symbol.toStringTag]: tag } = object as Record<symbol, unknown>;
  if (typeof iterate === "function") return true; // For example a stream of Node.
  if (typeof tag !== "string" || tag === "Object") return false;
  const builtin = Object.getOwnPropertyDescriptor(globalThis, tag);
  // Classes that a program assigns to `globalThis` are enumerable there, those of the platform are not.
  if (builtin === undefined || builtin.enumerable) return false;
  const Class: unknown = (globalThis as Record<string, unknown>)[tag];
  return typeof Class === "function" && object instanceof Class;
}

function hasMembers(object: object): boolean {
  const prototype: object | null = Object.getPrototypeOf(object);
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return false;
  return Reflect.ownKeys(prototype).some((key) => key !== "constructor") || hasMembers(prototype);
}

/** Returns the name of an object's class for messages. */
export function classNameOf(object: object): string {
  const tag = Object.prototype.toString.call(object).slice(8, -1);
  const name: unknown = tag === "Object" ? Object.getPrototypeOf(object)?.constructor?.name : tag;
  return typeof name === "string" && name !== "" ? name.slice(0, 100) : "class";
}
