import { array, number, type ObjectOf, object, oneOf, optional, string, type UnionOf } from "../internal/shape.ts";

const annotationFields = {
  /** Whom the block is for. */
  audience: optional(array(oneOf(["user", "assistant"]))),
  /** From 0 (optional) to 1 (required). */
  priority: optional(number()),
  /** ISO 8601 time. */
  lastModified: optional(string()),
};

/** Hints about who a block is for and how much it matters. */
export interface MCPAnnotations extends ObjectOf<typeof annotationFields> {}

const resourceFields = {
  /** Where it is. */
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
    /** For whom the block is. */
    annotations,
  },
  {
    type: oneOf(["image"]),
    /** The image in base64. */
    data: string(),
    /** Its media type. */
    mimeType: string(),
    /** For whom the block is. */
    annotations,
  },
  {
    type: oneOf(["audio"]),
    /** The recording in base64. */
    data: string(),
    /** Its media type. */
    mimeType: string(),
    /** For whom the block is. */
    annotations,
  },
  {
    type: oneOf(["resource"]),
    /** The embedded content. */
    resource: object<MCPResourceContent>(resourceFields),
    /** For whom the block is. */
    annotations,
  },
  {
    type: oneOf(["resource_link"]),
    /** Where the resource is. */
    uri: string(),
    /** Its name. */
    name: string(),
    /** What it contains. */
    description: optional(string()),
    /** Its media type. */
    mimeType: optional(string()),
  },
] as const;

/** One block of an MCP result. Our own type, so that nothing here depends on an MCP SDK. */
export type MCPContentBlock = UnionOf<(typeof contentShapes)[number]>;

/** Handlers that run a tool of an MCP server. */
const toolHandlers = new WeakSet<object>();

/**
 * Notes that a handler runs a tool of an MCP server. An error that such a tool reports is a result with a shape of its
 * own, also under `strict`; what any other handler returns is data, whatever it looks like.
 */
export function markToolHandler<Handler extends object>(handler: Handler): Handler {
  toolHandlers.add(handler);
  return handler;
}

/** Whether a handler was marked by {@link markToolHandler}. */
export function isToolHandler(handler: object): boolean {
  return toolHandlers.has(handler);
}
