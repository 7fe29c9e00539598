export {
  type BusTrust,
  defineConfig,
  type EnvReference,
  env,
  type HistoryConfig,
  type HubAccessConfig,
  type HubConfig,
  type HubRule,
  type HubServeConfig,
  type MCPFileSourceConfig,
  type MCPServerSourceConfig,
  type ModulesSourceConfig,
  type NATSSourceConfig,
  type OpenAPISourceConfig,
  type RedisSourceConfig,
  type ResolvedConfig,
  type SourceConfig,
  type SourceOptions,
  type WebSocketSourceConfig,
  type WithEnv,
  type WithoutEnv,
} from "./config.ts";
export { findConfig, type LoadConfigOptions, type LoadedConfig, loadConfig } from "./config-load.ts";
export { type Environment, type ResolveConfigOptions, resolveConfig } from "./config-resolve.ts";
export { createHub, type Hub, type HubOptions, type ReloadSummary } from "./hub.ts";
export type { SourceKind, SourceState, SourceStatus } from "./hub-source.ts";
export {
  type LoadMCPConfigOptions,
  loadMCPConfig,
  type MCPConfigFile,
  type MCPConfigInput,
  type MCPConfigNotice,
  type MCPConfigOptions,
  readMCPConfig,
} from "./mcp-config.ts";
export type { MCPVariables } from "./mcp-config-variables.ts";
