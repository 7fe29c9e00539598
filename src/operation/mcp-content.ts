import { Type } from "typebox";

/** Hints about the audience and the importance of a block. */
export interface MCPAnnotations {
  /** The intended audience of the block. */
  audience?: Array<"user" | "assistant">;
  /** From 0 (optional) to 1 (required). */
  priority?: number;
  /** ISO 8601 time. */
  lastModified?: string;
}

/** The content of an embedded resource: `text`, or `blob` in base64. */
export interface MCPResourceContent {
  /** URI of the resource. */
  uri: string;
  /** Its media type. */
  mimeType?: string;
  /** Its content as a string. */
  text?: string;
  /** Its content in base64. */
  blob?: string;
}

/** One block of an MCP result. Declared here, so that this package does not depend on an MCP SDK. */
export type MCPContentBlock =
  | {
      type: "text";
      /** The text. */
      text: string;
      /** Hints about the audience and the importance of the block. */
      annotations?: MCPAnnotations;
    }
  | {
      type: "image";
      /** The image in base64. */
      data: string;
      /** Its media type. */
      mimeType: string;
      /** Hints about the audience and the importance of the block. */
      annotations?: MCPAnnotations;
    }
  | {
      type: "audio";
      /** The recording in base64. */
      data: string;
      /** Its media type. */
      mimeType: string;
      /** Hints about the audience and the importance of the block. */
      annotations?: MCPAnnotations;
    }
  | {
      type: "resource";
      /** The embedded content. */
      resource: MCPResourceContent;
      /** Hints about the audience and the importance of the block. */
      annotations?: MCPAnnotations;
    }
  | {
      type: "resource_link";
      /** URI of the resource. */
      uri: string;
      /** Its name. */
      name: string;
      /** Description of the resource. */
      description?: string;
      /** Its media type. */
      mimeType?: string;
    };

const annotations = Type.Optional(
  Type.Object({
    audience: Type.Optional(Type.Array(Type.Union([Type.Literal("user"), Type.Literal("assistant")]))),
    priority: Type.Optional(Type.Number()),
    lastModified: Type.Optional(Type.String()),
  }),
);

/** One block of an MCP result, as {@link MCPContentBlock}. */
export const MCPContentBlockSchema = Type.Union([
  Type.Object({ type: Type.Literal("text"), text: Type.String(), annotations }),
  Type.Object({ type: Type.Literal("image"), data: Type.String(), mimeType: Type.String(), annotations }),
  Type.Object({ type: Type.Literal("audio"), data: Type.String(), mimeType: Type.String(), annotations }),
  Type.Object({
    type: Type.Literal("resource"),
    resource: Type.Object({
      uri: Type.String(),
      mimeType: Type.Optional(Type.String()),
      text: Type.Optional(Type.String()),
      blob: Type.Optional(Type.String()),
    }),
    annotations,
  }),
  Type.Object({
    type: Type.Literal("resource_link"),
    uri: Type.String(),
    name: Type.String(),
    description: Type.Optional(Type.String()),
    mimeType: Type.Optional(Type.String()),
  }),
]);

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
