import { isObject } from "./objects.ts";

/** Returns JSON with sorted keys, so that values that differ only in key order are equal. Throws for values without JSON. */
export function canonicalJSON(value: unknown): string {
  return JSON.stringify(value, (_key, held: unknown) =>
    isObject(held) ? Object.fromEntries(Object.entries(held).sort(([a], [b]) => (a < b ? -1 : 1))) : held,
  );
}

/** Returns the SHA-256 of a value's {@link canonicalJSON} in hexadecimal digits. */
export async function hashJSON(value: unknown): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonicalJSON(value)));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
