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
