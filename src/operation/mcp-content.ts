import { Type } from "typebox";
import { getOwn } from "../internal/objects.ts";
import type { CallErrorJSON } from "./error.ts";

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
