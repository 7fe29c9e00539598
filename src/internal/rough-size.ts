/** In bytes: what a value costs at least, and what each entry of a list or object costs besides its value. */
const slot = 8;
const maxSmallBigint = 2n ** 64n;

/**
 * Roughly how many bytes a value takes in memory: a byte per character and byte, eight for all other values. Stops
 * counting at `limit`, which also ends it for values that contain themselves. Does not throw.
 */
export function roughSize(value: unknown, limit: number): number {
  if (typeof value !== "object" || value === null) return sizeOfPrimitive(value);
  let size = 0;
  const waiting: unknown[] = [value];
  while (waiting.length > 0 && size < limit) {
    const next = waiting.pop();
    size += typeof next === "object" && next !== null ? visit(next, limit - size, waiting) : sizeOfPrimitive(next);
  }
  return size;
}

function sizeOfPrimitive(value: unknown): number {
  if (typeof value === "string") return slot + value.length;
  if (typeof value !== "bigint" || (value < maxSmallBigint && value > -maxSmallBigint)) return slot;
  return slot + value.toString(16).length / 2;
}

/** The size of an object without its members, which are added to those that wait, unless it is too large by itself. */
function visit(value: object, room: number, waiting: unknown[]): number {
  try {
    if (Array.isArray(value)) {
      const size = slot * (value.length + 1);
      if (size < room) for (const item of value) waiting.push(item);
      return size;
    }
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return slot + value.byteLength;
    if (value instanceof Map || value instanceof Set) {
      const size = 2 * slot * (value.size + 1);
      if (size < room) for (const [key, item] of value.entries()) waiting.push(key, item);
      return size;
    }
    return visitProperties(value, room, waiting);
  } catch {
    return slot; // a getter or a proxy that throws
  }
}

function visitProperties(value: object, room: number, waiting: unknown[]): number {
  if (value instanceof Error) waiting.push(value.message, value.cause);
  let size = slot;
  for (const key of Object.keys(value)) {
    size += slot + key.length;
    if (size >= room) break;
    waiting.push((value as Record<string, unknown>)[key]);
  }
  return size;
}
