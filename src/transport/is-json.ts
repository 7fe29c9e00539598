/**
 * Returns whether `JSON.stringify` loses or changes nothing of a value; a `Date` becomes its ISO string. Returns false if
 * unsure. A speed path, for the bench `serve-http`: it runs for every result of a server, and allocates nothing.
 */
export function isJSON(value: unknown, depth: number): boolean {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return true;
  if (typeof value === "number") return value - value === 0; // Subtracting NaN or an infinity from itself yields NaN.
  if (typeof value !== "object" || depth === 0) return false;
  const prototype = Object.getPrototypeOf(value);
  if (Array.isArray(value)) {
    if (prototype !== Array.prototype) return false;
    for (let index = 0; index < value.length; index++) if (!isJSON(value[index], depth - 1)) return false;
    return true;
  }
  if (prototype === Date.prototype) return !Number.isNaN((value as Date).getTime());
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const key in value) {
    const part = (value as Record<string, unknown>)[key];
    if (part !== undefined && !isJSON(part, depth - 1)) return false;
  }
  return typeof (value as { toJSON?: unknown }).toJSON !== "function";
}
