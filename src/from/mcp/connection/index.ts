export { finishMCPAuth } from "./auth.ts";
export {
  type MCPConnection,
  type MCPProgress,
  type MCPRequestOptions,
  type RawResult,
  type RawTool,
  refusalKey,
} from "./connection.ts";
export { openConnection } from "./open-connection.ts";
export type { MCPServerInfo, MCPServerState, MCPServerStatus } from "./state.ts";
