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
  type ResolvedConfig,
  type SourceConfig,
  type SourceOptions,
  type WithEnv,
  type WithoutEnv,
} from "./config.ts";
export { findConfig, type LoadConfigOptions, type LoadedConfig, loadConfig } from "./config-load.ts";
export { type ResolveConfigOptions, resolveConfig } from "./config-resolve.ts";
export type { Environment } from "./config-variables.ts";
export { createHub, type Hub, type HubOptions, type ReloadSummary } from "./hub.ts";
export type { SourceKind, SourceState } from "./hub-source.ts";
export type { ConnectionStatus as SourceStatus } from "./keep-connected.ts";
export {
  type LoadMCPConfigOptions,
  loadMCPConfig,
  type MCPConfigFile,
  type MCPConfigNotice,
} from "./mcp-config.ts";
