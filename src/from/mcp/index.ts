export { closeMCPClient, createMCPClient, type MCPClientWrapper } from "./client.ts";
export type {
  MCPAuth,
  MCPClientConfig,
  MCPElicitAnswer,
  MCPElicitRequest,
  MCPProtocol,
  MCPRestart,
  MCPSecret,
  MCPTimeouts,
  MCPToolFilter,
} from "./config.ts";
export type {
  MCPConnection,
  MCPProgress,
  MCPRequestOptions,
  MCPServerInfo,
  MCPServerState,
  MCPServerStatus,
  RawResult,
  RawTool,
} from "./connection/index.ts";
export { mapMCPContentBlocks } from "./content.ts";
export { type FollowingRegistry, MCPClientLoader } from "./loader.ts";
export type { HeldTool } from "./pins.ts";
export type { MCPOperation } from "./tool-operation.ts";
