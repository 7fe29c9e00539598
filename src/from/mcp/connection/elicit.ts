import type { ElicitRequest, ElicitResult } from "@modelcontextprotocol/client";
import { logger } from "../../../internal/log.ts";
import type { MCPClientConfig } from "../config.ts";
import type { SDK } from "./load-sdk.ts";

const log = logger("from", "mcp");

const internalError = -32603;

type Context = { mcpReq: { signal: AbortSignal } };

/**
 * Brings what a server asks its user for into one shape for both modes. What the operator's function throws goes to the
 * log and not to the server: it may hold anything.
 */
export function createElicitHandler(
  sdk: SDK,
  server: string,
  onElicit: NonNullable<MCPClientConfig["onElicit"]>,
): (request: ElicitRequest, context: Context) => Promise<ElicitResult> {
  return async ({ params }, context) => {
    const asked = params as Record<string, unknown>;
    try {
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
    } catch (error) {
      log.error("{server}: onElicit failed: {error}", { server, error });
      throw new sdk.ProtocolError(internalError, "The request for input could not be answered.");
    }
  };
}
