export { type MCPConfigFile, type MCPConfigInput, type MCPConfigOptions, readMCPConfig } from "./mcp-config.ts";
export type { MCPVariables } from "./mcp-config-variables.ts";
