export type { HeldOperation } from "../pins.ts";
export type { Secret } from "../source.ts";
export { closeMCPClient, createMCPClient, type MCPClientWrapper } from "./client.ts";
export type {
  MCPAuth,
  MCPClientConfig,
  MCPElicitRequest,
  MCPElicitResult,
  MCPLimits,
  MCPProtocol,
  MCPRestart,
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
  type MCPTool,
  type MCPToolCall,
  type MCPToolResult,
} from "./connection/index.ts";
export { mapMCPContentBlocks } from "./content.ts";
export { MCPClientLoader, type SourceFollower } from "./loader.ts";
export { type MCPSource, type MCPSourceConfig, mcpSource } from "./source.ts";
export type { MCPOperation } from "./tool-operation.ts";
