let partsLeft = 0;

/**
 * Tells whether `JSON.stringify` carries a value as it is. Doubtful values, and those with more levels or parts than
 * given, count as not plain. Every frame goes through here, so it looks once at every part and makes nothing.
 */
export function isPlain(value: unknown, maxDepth: number, maxParts: number): boolean {
  partsLeft = maxParts;
  return check(value, maxDepth);
}

function check(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      // The difference is NaN for NaN and the infinities.
      return value === 0 ? 1 / value > 0 : value - value === 0;
    case "object":
      if (value === null) return true;
      if (depth <= 0) return false;
      return Array.isArray(value) ? checkList(value, depth - 1) : checkObject(value, depth - 1);
    default:
      return false;
  }
}

function checkList(list: readonly unknown[], depth: number): boolean {
  if (Object.getPrototypeOf(list) !== Array.prototype) return false;
  partsLeft -= list.length + 1;
  if (partsLeft < 0) return false;
  for (let index = 0; index < list.length; index++) {
    if (!check(list[index], depth)) return false;
  }
  return true;
}

function checkObject(object: object, depth: number): boolean {
  const prototype = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) return false;
  if (--partsLeft < 0) return false;
  for (const key in object) {
    if (!check((object as Record<string, unknown>)[key], depth)) return false;
  }
  return true;
}
