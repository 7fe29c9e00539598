import { CallError } from "../../../operation/index.ts";
import type { MCPClientConfig } from "../config.ts";
import type { MCPConnection } from "./connection.ts";

/** Starts or reaches a server and resolves when it is ready. Rejects with a `CallError`, and then nothing is left running. */
export async function openConnection(name: string, _config: MCPClientConfig): Promise<MCPConnection> {
  throw new CallError("UNAVAILABLE", `MCP server ${JSON.stringify(name)} cannot be reached yet.`);
}
