import { classNameOf, hidesState, isWireValue, readJSONForm } from "./instances.ts";
import { extendPointer } from "./json-pointer.ts";
import { isClassless } from "./objects.ts";

/** Thrown by {@link stringifyStrictly} for a value that JSON cannot represent. */
export class NotJSON extends Error {
  /** JSON pointer to the value. */
  readonly path: string;
  /** Explanation without a full stop, such as `a Map is not JSON`. */
  readonly reason: string;

  constructor(path: string, reason: string) {
    super(`The value at "${path}" cannot be sent as JSON: ${reason}.`);
    this.path = path;
    this.reason = reason;
  }
}

/**
 * `JSON.stringify` that throws {@link NotJSON} instead of changing a value silently. A `Date` becomes its ISO string, an
 * instance of a class an object, and a property that is `undefined` is omitted. Returns `undefined` for `undefined`.
 */
export function stringifyStrictly(value: unknown, maxDepth: number): string | undefined {
  const path: Array<string | number> = [];
  let reason: string | undefined;
  try {
    reason = findProblem(value, path, maxDepth);
    if (reason === undefined) return JSON.stringify(value);
  } catch {
    reason = "reading it failed"; // A getter, a proxy or `toJSON` threw.
  }
  throw new NotJSON(extendPointer("", ...path), reason);
}

/** Returns why a value is not JSON, and extends `path` by the keys that lead to the problem. */
function findProblem(value: unknown, path: Array<string | number>, depth: number): string | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : `${value} is not JSON`;
    case "object":
      return value === null ? undefined : findProblemIn(value, path, depth);
    default:
      return `a ${typeof value} is not JSON`;
  }
}

function findProblemIn(object: object, path: Array<string | number>, depth: number): string | undefined {
  if (depth <= 0) return "it contains itself, or is nested too deeply";
  if (Array.isArray(object)) {
    for (let index = 0; index < object.length; index++) {
      const item: unknown = object[index];
      path.push(index);
      if (item === undefined) return "an array of JSON cannot contain undefined";
      const problem = findProblem(item, path, depth - 1);
      if (problem !== undefined) return problem;
      path.pop();
    }
    return undefined;
  }
  if (!isClassless(object) || "toJSON" in object) {
    if (object instanceof Date) return Number.isNaN(object.getTime()) ? "it is an invalid Date" : undefined;
    const form = readJSONForm(object);
    if (form !== undefined) return findProblem(form[0], path, depth - 1);
    if (isWireValue(object) || hidesState(object)) return `a ${classNameOf(object)} is not JSON`;
  }
  for (const key of Object.keys(object)) {
    path.push(key);
    const problem = findProblem((object as Record<string, unknown>)[key], path, depth - 1);
    if (problem !== undefined) return problem;
    path.pop();
  }
  return undefined;
}
