export { closeMCPClient, createMCPClient, type MCPClientWrapper } from "./client.ts";
export type {
  MCPAuth,
  MCPClientConfig,
  MCPElicitAnswer,
  MCPElicitRequest,
  MCPLimits,
  MCPProtocol,
  MCPRestart,
  MCPSecret,
  MCPTimeouts,
  MCPToolFilter,
} from "./config.ts";
export {
  finishMCPAuth,
  type MCPConnection,
  type MCPProgress,
  type MCPRequestOptions,
  type MCPServerInfo,
  type MCPServerState,
  type MCPServerStatus,
  type RawResult,
  type RawTool,
} from "./connection/index.ts";
export { mapMCPContentBlocks } from "./content.ts";
export { type FollowingRegistry, MCPClientLoader } from "./loader.ts";
export type { HeldTool } from "./pins.ts";
export type { MCPOperation } from "./tool-operation.ts";
