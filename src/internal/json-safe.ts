import { setOwn } from "./objects.ts";

const maxDepth = 100;
const maxNodes = 100_000;

/**
 * Copies any value into one that survives a round trip through JSON. Values that JSON cannot represent are replaced: a
 * `bigint` by its digits, an `Error` by its name and message (never the stack), a `Map` by its entries, a `Set` by its
 * members, a cycle or a value that is too deep by a note in brackets. Functions, symbols and `undefined` are omitted, as in
 * JSON. Never throws or mutates, and takes a limited time.
 */
export function toJSONSafe(value: unknown): unknown {
  return copy(value, { ancestors: new Set(), nodes: 0 });
}

interface Walk {
  ancestors: Set<object>;
  nodes: number;
}

function copy(value: unknown, walk: Walk): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value + 0 : null; // `+ 0` converts -0, which JSON does not have.
    case "bigint":
      return value.toString();
    case "object":
      return value === null ? null : copyObject(value, walk);
    default:
      return undefined;
  }
}

function copyObject(object: object, walk: Walk): unknown {
  if (walk.ancestors.has(object)) return "[circular]";
  if (walk.ancestors.size >= maxDepth) return "[too deep]";
  if (++walk.nodes > maxNodes) return "[too large]";
  walk.ancestors.add(object);
  try {
    return copyContent(object, walk);
  } catch {
    return "[unreadable]"; // A getter, a proxy trap or toJSON threw.
  } finally {
    walk.ancestors.delete(object);
  }
}

function copyContent(object: object, walk: Walk): unknown {
  // Errors come before `toJSON`: that of some HTTP clients returns the request with its credentials.
  if (object instanceof Error) return { name: String(object.name), message: String(object.message) };
  if (typeof (object as { toJSON?: unknown }).toJSON === "function") {
    return copy((object as { toJSON(): unknown }).toJSON(), walk);
  }
  if (Array.isArray(object)) return copyList(object, walk);
  if (object instanceof Map || object instanceof Set) return copyList([...object], walk);
  if (object instanceof Number || object instanceof String || object instanceof Boolean) {
    return copy(object.valueOf(), walk);
  }
  return copyProperties(object as Record<string, unknown>, walk);
}

function copyList(list: readonly unknown[], walk: Walk): unknown[] {
  const result: unknown[] = [];
  for (let index = 0; index < list.length && walk.nodes <= maxNodes; index++) {
    walk.nodes++;
    result.push(copy(list[index], walk) ?? null);
  }
  return result;
}

function copyProperties(object: Record<string, unknown>, walk: Walk): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(object)) {
    if (++walk.nodes > maxNodes) break;
    const value = copy(object[key], walk);
    if (value !== undefined) setOwn(result, key, value);
  }
  return result;
}
