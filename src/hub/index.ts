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
  type SourceConfig,
  type SourceOptions,
  type WebSocketSourceConfig,
  type WithEnv,
} from "./config.ts";
export { type MCPConfigFile, type MCPConfigInput, type MCPConfigOptions, readMCPConfig } from "./mcp-config.ts";
export type { MCPVariables } from "./mcp-config-variables.ts";
