/** The minimum size of a value, and the size of an entry of an array or object without its value. */
const slotBytes = 8;
const maxSmallBigint = 2n ** 64n;

/**
 * Returns the approximate size of a value in memory, in bytes: one per character and byte, eight for other values.
 * Counting stops at `limit`, also for cyclic values. Never throws.
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
  if (typeof value === "string") return slotBytes + value.length;
  if (typeof value !== "bigint" || (value < maxSmallBigint && value > -maxSmallBigint)) return slotBytes;
  return slotBytes + value.toString(16).length / 2;
}

/** Returns the size of an object without its members, and adds these to `waiting` unless the object alone exceeds `room`. */
function visit(value: object, room: number, waiting: unknown[]): number {
  try {
    if (Array.isArray(value)) {
      const size = slotBytes * (value.length + 1);
      if (size < room) for (const item of value) waiting.push(item);
      return size;
    }
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return slotBytes + value.byteLength;
    if (value instanceof Map || value instanceof Set) {
      const size = 2 * slotBytes * (value.size + 1);
      if (size < room) for (const [key, item] of value.entries()) waiting.push(key, item);
      return size;
    }
    return visitProperties(value, room, waiting);
  } catch {
    return slotBytes; // A getter or a proxy threw.
  }
}

function visitProperties(value: object, room: number, waiting: unknown[]): number {
  if (value instanceof Error) waiting.push(value.message, value.cause);
  let size = slotBytes;
  for (const key of Object.keys(value)) {
    size += slotBytes + key.length;
    if (size >= room) break;
    waiting.push((value as Record<string, unknown>)[key]);
  }
  return size;
}
