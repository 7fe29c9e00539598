import type { ElicitRequest, ElicitResult } from "@modelcontextprotocol/client";
import type { MCPClientConfig } from "../config.ts";

type Context = { mcpReq: { signal: AbortSignal } };

/** Brings what a server asks its user for into one shape for both modes. */
export function createElicitHandler(
  server: string,
  onElicit: NonNullable<MCPClientConfig["onElicit"]>,
): (request: ElicitRequest, context: Context) => Promise<ElicitResult> {
  return async ({ params }, context) => {
    const asked = params as Record<string, unknown>;
    const { action, content } = await onElicit(
      {
        server,
        message: params.message,
        mode: params.mode === "url" ? "url" : "form",
        requestedSchema: asked["requestedSchema"],
        url: asked["url"] as string | undefined,
        params: asked,
      },
      { signal: context.mcpReq.signal },
    );
    return content === undefined ? { action } : { action, content };
  };
}
