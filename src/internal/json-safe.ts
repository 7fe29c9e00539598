import { type JSONObject, setOwn } from "./objects.ts";

const maxDepth = 100;
const maxNodes = 100_000;

/**
 * Copies any value into one that survives a round trip through JSON, for the details of errors. Values that JSON cannot
 * represent are replaced: a `bigint` by its digits, an `Error` by its name and message (never the stack), a `Map` by its
 * entries, a `Set` by its members, a cycle or a value that is too deep by a note in brackets. Functions, symbols and
 * `undefined` are omitted, as in JSON. Never throws or mutates, and takes a limited time.
 */
export function toJSONSafe(value: unknown): unknown {
  const ancestors = new Set<object>();
  let nodes = 0;

  function copy(given: unknown): unknown {
    if (typeof given === "bigint") return String(given);
    if (typeof given === "number") return Number.isFinite(given) ? given + 0 : null; // `+ 0` converts -0, which JSON does not have.
    if (typeof given === "function" || typeof given === "symbol") return undefined;
    if (typeof given !== "object" || given === null) return given;
    if (ancestors.has(given)) return "[circular]";
    if (ancestors.size >= maxDepth) return "[too deep]";
    ancestors.add(given);
    try {
      return copyObject(given);
    } catch {
      return "[unreadable]"; // A getter, a proxy or `toJSON` threw.
    } finally {
      ancestors.delete(given);
    }
  }

  function copyObject(object: object): unknown {
    // Errors come before `toJSON`: that of some HTTP clients returns the request with its credentials.
    if (object instanceof Error) return { name: String(object.name), message: String(object.message) };
    const form = readJSONForm(object);
    if (form !== undefined) return copy(form[0]);
    if (object instanceof Number || object instanceof String || object instanceof Boolean)
      return copy(object.valueOf());
    const source = object instanceof Map || object instanceof Set ? [...object] : object;
    const list: unknown[] | undefined = Array.isArray(source) ? [] : undefined;
    const members: JSONObject = {};
    for (const key of Object.keys(source)) {
      if (++nodes > maxNodes) break;
      const copied = copy((source as JSONObject)[key]);
      if (list !== undefined) list.push(copied ?? null);
      else if (copied !== undefined) setOwn(members, key, copied);
    }
    return list ?? members;
  }

  return copy(value);
}

/** Returns the result of the object's `toJSON`, in an array; `undefined` without that method, or if it returns the object. */
export function readJSONForm(object: object): [json: unknown] | undefined {
  const { toJSON } = object as { toJSON?: unknown };
  if (typeof toJSON !== "function") return undefined;
  const json: unknown = toJSON.call(object);
  return json === object ? undefined : [json];
}
