import type { RawTool } from "./connection/index.ts";
import { isObject } from "./values.ts";

/**
 * A SHA-256 over everything about a tool that a caller or reviewer relies on: its texts, hints and schemas. Icons,
 * `_meta` and the server's version are no part of it.
 */
export async function fingerprint({
  title,
  description,
  inputSchema,
  outputSchema,
  annotations,
}: RawTool): Promise<string> {
  const text = canonical({ title, description, inputSchema, outputSchema, annotations });
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** JSON with the keys in order, so that what was only rearranged counts as unchanged. Throws for what is no JSON. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, held: unknown) =>
    isObject(held)
      ? Object.fromEntries(
          Object.keys(held)
            .sort()
            .map((key) => [key, held[key]]),
        )
      : held,
  );
}
