import { type Static, Type } from "typebox";
import { optional } from "./optional.ts";

const annotationsSchema = Type.Object({
  /** The intended audience of the block. */
  audience: optional(Type.Array(Type.Union([Type.Literal("user"), Type.Literal("assistant")]))),
  /** From 0 (optional) to 1 (required). */
  priority: optional(Type.Number()),
  /** ISO 8601 time. */
  lastModified: optional(Type.String()),
});

/** Hints about the audience and the importance of a block. */
export interface MCPAnnotations extends Static<typeof annotationsSchema> {}

const resourceSchema = Type.Object({
  /** URI of the resource. */
  uri: Type.String(),
  /** Its media type. */
  mimeType: optional(Type.String()),
  /** Its content as a string. */
  text: optional(Type.String()),
  /** Its content in base64. */
  blob: optional(Type.String()),
});

/** The content of an embedded resource: `text`, or `blob` in base64. */
export interface MCPResourceContent extends Static<typeof resourceSchema> {}

const hints = {
  /** Hints about the audience and the importance of the block. */
  annotations: optional(Type.Unsafe<MCPAnnotations>(annotationsSchema)),
};

/** Schema of {@link MCPContentBlock}. */
export const MCPContentBlockSchema = Type.Union([
  Type.Object({
    type: Type.Literal("text"),
    /** The text. */
    text: Type.String(),
    ...hints,
  }),
  Type.Object({
    type: Type.Literal("image"),
    /** The image in base64. */
    data: Type.String(),
    /** Its media type. */
    mimeType: Type.String(),
    ...hints,
  }),
  Type.Object({
    type: Type.Literal("audio"),
    /** The recording in base64. */
    data: Type.String(),
    /** Its media type. */
    mimeType: Type.String(),
    ...hints,
  }),
  Type.Object({
    type: Type.Literal("resource"),
    /** The embedded content. */
    resource: Type.Unsafe<MCPResourceContent>(resourceSchema),
    ...hints,
  }),
  Type.Object({
    type: Type.Literal("resource_link"),
    /** URI of the resource. */
    uri: Type.String(),
    /** Its name. */
    name: Type.String(),
    /** Description of the resource. */
    description: optional(Type.String()),
    /** Its media type. */
    mimeType: optional(Type.String()),
  }),
]);

/**
 * One block of an MCP result, with the fields of {@link MCPContentBlockSchema}. Declared here, so that this package does
 * not depend on an MCP SDK.
 */
export type MCPContentBlock = Static<typeof MCPContentBlockSchema>;

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
