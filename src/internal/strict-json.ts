import { classNameOf, hidesState, isWireValue, readJSONForm } from "./instances.ts";
import { extendPointer } from "./json-pointer.ts";

/** Thrown by {@link stringifyStrictly} for a value that JSON cannot represent. */
export class NotJSON extends Error {
  /** JSON pointer to the value. */
  readonly path: string;
  /** Explanation without a full stop, such as `JSON does not have NaN`. */
  readonly reason: string;

  constructor(path: string, reason: string, cause?: unknown) {
    super(`The value at "${path}" is not JSON: ${reason}.`, { cause });
    this.path = path;
    this.reason = reason;
  }
}

/**
 * `JSON.stringify` that throws {@link NotJSON} instead of changing a value silently. A `Date` becomes its ISO string, an
 * instance of a class an object, and a property that is `undefined` is omitted. Returns `undefined` for `undefined`.
 */
export function stringifyStrictly(value: unknown, maxDepth: number): string | undefined {
  if (value === undefined) return undefined;
  if (!isJSON(value, maxDepth)) new LossFinder(maxDepth).check(value);
  return JSON.stringify(value);
}

/** Returns whether a value is JSON. Returns false if unsure. Runs for every result of a server, and allocates nothing. */
function isJSON(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return value - value === 0; // Subtracting NaN or an infinity from itself yields NaN.
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (depth === 0) return false;
  const prototype = Object.getPrototypeOf(value);
  if (Array.isArray(value)) {
    if (prototype !== Array.prototype) return false;
    for (let index = 0; index < value.length; index++) if (!isJSON(value[index], depth - 1)) return false;
    return true;
  }
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const key in value) {
    const part = (value as Record<string, unknown>)[key];
    if (part !== undefined && !isJSON(part, depth - 1)) return false;
  }
  return typeof (value as { toJSON?: unknown }).toJSON !== "function";
}

/** Finds the path of a value that JSON would lose or change. */
class LossFinder {
  readonly #path: Array<string | number> = [];
  readonly #ancestors = new Set<object>();
  readonly #maxDepth: number;

  constructor(maxDepth: number) {
    this.#maxDepth = maxDepth;
  }

  /** Throws {@link NotJSON} if JSON would lose or change the value. */
  check(value: unknown): void {
    switch (typeof value) {
      case "number":
        if (!Number.isFinite(value)) throw this.#fail(`JSON does not have ${value}`);
        return;
      case "bigint":
        throw this.#fail("JSON does not have integers of this size; use a string");
      case "undefined":
        throw this.#fail("JSON does not have undefined; use null, or omit the item");
      case "function":
      case "symbol":
        throw this.#fail(`JSON does not have values of type ${typeof value}`);
      case "object":
        if (value !== null) this.#checkObject(value);
    }
  }

  #checkObject(object: object): void {
    if (this.#ancestors.has(object)) throw this.#fail("it contains itself");
    if (this.#ancestors.size >= this.#maxDepth) throw this.#fail("it is nested too deeply");
    this.#ancestors.add(object);
    try {
      this.#checkContent(object);
    } catch (error) {
      throw error instanceof NotJSON ? error : this.#fail("reading it failed", error);
    }
    this.#ancestors.delete(object);
  }

  #checkContent(object: object): void {
    if (Array.isArray(object)) {
      for (let index = 0; index < object.length; index++) this.#checkPart(index, object[index]);
      return;
    }
    if (object instanceof Date) {
      if (Number.isNaN(object.getTime())) throw this.#fail("it is an invalid Date");
      return;
    }
    if (isWireValue(object)) throw this.#fail(describeData(object));
    const form = readJSONForm(object);
    if (form !== undefined) return this.check(form[0]);
    if (hidesState(object)) throw this.#fail(`JSON does not have ${describeClass(object)}`);
    for (const [key, value] of Object.entries(object)) if (value !== undefined) this.#checkPart(key, value);
  }

  #checkPart(key: string | number, value: unknown): void {
    this.#path.push(key);
    this.check(value);
    this.#path.pop();
  }

  #fail(reason: string, cause?: unknown): NotJSON {
    return new NotJSON(extendPointer("", ...this.#path), reason, cause);
  }
}

function describeData(object: object): string {
  const isBinary = object instanceof ArrayBuffer || ArrayBuffer.isView(object);
  if (isBinary) return "JSON does not have bytes; use base64";
  return `JSON does not have ${describeClass(object)}; use an object or an array`;
}

function describeClass(object: object): string {
  const name = classNameOf(object);
  return `${/^[AEIOU]/.test(name) ? "an" : "a"} ${name}`;
}
