import { hashJSON } from "../../internal/canonical-json.ts";
import type { ImportedOperation } from "./operation.ts";

/**
 * A SHA-256 over everything about an operation that a caller or reviewer relies on: where it goes, its method, schemas
 * and texts. The version of the document is no part of it. Converts the operation's schemas.
 */
export async function fingerprint(operation: ImportedOperation): Promise<string> {
  const { type, title, description, tags, inputSchema, outputSchema, errorSchemas, idempotent, _meta } = operation;
  return hashJSON({ type, title, description, tags, inputSchema, outputSchema, errorSchemas, idempotent, _meta });
}
