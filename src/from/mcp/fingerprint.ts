import { hashJSON } from "../../internal/canonical-json.ts";
import type { RawTool } from "./connection/index.ts";

/**
 * A SHA-256 over everything about a tool that a caller or reviewer relies on: its texts, hints and schemas. Icons,
 * `_meta` and the server's version are no part of it.
 */
export function fingerprint({ title, description, inputSchema, outputSchema, annotations }: RawTool): Promise<string> {
  return hashJSON({ title, description, inputSchema, outputSchema, annotations });
}
