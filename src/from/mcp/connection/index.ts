export { finishMCPAuth } from "./auth.ts";
export {
  type MCPConnection,
  type MCPProgress,
  type MCPRequestOptions,
  type MCPServerInfo,
  type MCPServerState,
  type MCPServerStatus,
  type MCPTool,
  type MCPToolCall,
  type MCPToolResult,
  refusalKey,
} from "./connection.ts";
export { bodyOf, readRPCError } from "./connection-errors.ts";
export { openConnection } from "./server-connection.ts";
