import type { ImportedOperation } from "./operation.ts";
import { isObject } from "./values.ts";

/**
 * A SHA-256 over everything about an operation that a caller or reviewer relies on: where it goes, its method, schemas
 * and texts. The version of the document is no part of it. Converts the operation's schemas.
 */
export async function fingerprint(operation: ImportedOperation): Promise<string> {
  const { type, title, description, tags, inputSchema, outputSchema, errorSchemas, idempotent, _meta } = operation;
  const parts = { type, title, description, tags, inputSchema, outputSchema, errorSchemas, idempotent, _meta };
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonical(parts)));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** JSON with the keys in order, so that a document that was only rearranged counts as unchanged. */
function canonical(value: unknown): string {
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
