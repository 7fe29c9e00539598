const encoder = new TextEncoder();

/** Tells whether a text has more than `limit` bytes as UTF-8, mostly without looking at it. */
export function isLongerThan(text: string, limit: number): boolean {
  if (text.length > limit) return true;
  if (text.length * 3 <= limit) return false;
  return (typeof Buffer === "function" ? Buffer.byteLength(text) : encoder.encode(text).length) > limit;
}
