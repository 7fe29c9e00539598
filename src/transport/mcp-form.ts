import { getOwn } from "../internal/objects.ts";
import type { CallErrorJSON } from "../operation/index.ts";

// How calls are written in MCP: shared by the server and the source of its tools.

/** Key of `_meta` under which servers of this package publish the spec of a tool, and the error of a result. */
export const mcpMetaKey = "dev.alkdev/operations";

/**
 * Returns whether a schema describes only objects. MCP accepts only these as arguments and, before 2026-07-28, as
 * structured content, so that other values are wrapped in an object.
 */
export function describesObject(schema: unknown): boolean {
  return getOwn(schema, "type") === "object" && getOwn(schema, "nullable") !== true;
}

/** The value under {@link mcpMetaKey} of a result. It restores what a tool result alone does not express. */
export interface MCPResultMeta {
  /** The error with which the operation failed. */
  error?: CallErrorJSON;
  /** The data is in the property `result` of the structured content, because older clients accept only objects there. */
  isWrapped?: boolean;
  /** The data is `undefined`. */
  isUndefined?: boolean;
  /** The structured content, if the result itself cannot have it, or if older clients would lose a part of it. */
  structuredContent?: unknown;
  /**
   * The result is marked as an error only because clients refuse data that does not match the output schema. The last
   * content block explains it.
   */
  isMismatch?: boolean;
  /** The data is bytes of this class, which the only content block contains. */
  bytes?: "ArrayBuffer" | "Uint8Array";
}
