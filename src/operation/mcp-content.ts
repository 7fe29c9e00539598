import { getOwn } from "../internal/objects.ts";
import { array, number, type ObjectOf, object, oneOf, optional, string, type UnionOf } from "../internal/shape.ts";
import type { CallErrorJSON } from "./error-json.ts";

const annotationFields = {
  /** The intended audience of the block. */
  audience: optional(array(oneOf(["user", "assistant"]))),
  /** From 0 (optional) to 1 (required). */
  priority: optional(number()),
  /** ISO 8601 time. */
  lastModified: optional(string()),
};

/** Hints about the audience and the importance of a block. */
export interface MCPAnnotations extends ObjectOf<typeof annotationFields> {}

const resourceFields = {
  /** URI of the resource. */
  uri: string(),
  /** Its media type. */
  mimeType: optional(string()),
  /** Its content as a string. */
  text: optional(string()),
  /** Its content in base64. */
  blob: optional(string()),
};

/** The content of an embedded resource: `text`, or `blob` in base64. */
export interface MCPResourceContent extends ObjectOf<typeof resourceFields> {}

const annotations = optional(object<MCPAnnotations>(annotationFields));

/** The blocks that an MCP result can have. */
export const contentShapes = [
  {
    type: oneOf(["text"]),
    /** The text. */
    text: string(),
    /** Hints about the audience and the importance of the block. */
    annotations,
  },
  {
    type: oneOf(["image"]),
    /** The image in base64. */
    data: string(),
    /** Its media type. */
    mimeType: string(),
    /** Hints about the audience and the importance of the block. */
    annotations,
  },
  {
    type: oneOf(["audio"]),
    /** The recording in base64. */
    data: string(),
    /** Its media type. */
    mimeType: string(),
    /** Hints about the audience and the importance of the block. */
    annotations,
  },
  {
    type: oneOf(["resource"]),
    /** The embedded content. */
    resource: object<MCPResourceContent>(resourceFields),
    /** Hints about the audience and the importance of the block. */
    annotations,
  },
  {
    type: oneOf(["resource_link"]),
    /** URI of the resource. */
    uri: string(),
    /** Its name. */
    name: string(),
    /** Description of the resource. */
    description: optional(string()),
    /** Its media type. */
    mimeType: optional(string()),
  },
] as const;

/** One block of an MCP result. Declared here, so that this package does not depend on an MCP SDK. */
export type MCPContentBlock = UnionOf<(typeof contentShapes)[number]>;

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

/** Handlers that run a tool of an MCP server. */
const toolHandlers = new WeakSet<object>();

/**
 * Records that a handler runs a tool of an MCP server. An error that such a tool reports is not checked against the
 * `outputSchema`, not even under `strict`. The result of any other handler is data.
 */
export function markToolHandler<Handler extends object>(handler: Handler): Handler {
  toolHandlers.add(handler);
  return handler;
}

/** Returns whether a handler was marked by {@link markToolHandler}. */
export function isToolHandler(handler: object): boolean {
  return toolHandlers.has(handler);
}
