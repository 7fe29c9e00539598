import { isObject } from "./objects.ts";

/** Returns JSON with sorted keys, so that values that differ only in key order are equal. Throws for values without JSON. */
export function canonicalJSON(value: unknown): string {
  return JSON.stringify(value, (_key, held: unknown) =>
    isObject(held) ? Object.fromEntries(Object.entries(held).sort(([a], [b]) => (a < b ? -1 : 1))) : held,
  );
}
