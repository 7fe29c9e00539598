export type { MCPConnection, MCPProgress, MCPRequestOptions, RawResult, RawTool } from "./connection.ts";
export { openConnection } from "./open-connection.ts";
export type { MCPServerInfo, MCPServerState, MCPServerStatus } from "./state.ts";
