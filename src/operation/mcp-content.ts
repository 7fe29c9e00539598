/** Hints about who a block is for and how much it matters. */
export interface MCPAnnotations {
  audience?: Array<"user" | "assistant">;
  /** From 0 (optional) to 1 (required). */
  priority?: number;
  /** ISO 8601 time. */
  lastModified?: string;
}

/** The content of an embedded resource: `text`, or `blob` in base64. */
export interface MCPResourceContent {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
}

/** One block of an MCP result. Our own type, so that nothing here depends on an MCP SDK. */
export type MCPContentBlock =
  | { type: "text"; text: string; annotations?: MCPAnnotations }
  | { type: "image"; data: string; mimeType: string; annotations?: MCPAnnotations }
  | { type: "audio"; data: string; mimeType: string; annotations?: MCPAnnotations }
  | { type: "resource"; resource: MCPResourceContent; annotations?: MCPAnnotations }
  | { type: "resource_link"; uri: string; name: string; description?: string; mimeType?: string };

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
