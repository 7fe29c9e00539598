export type {
  Authenticator,
  AuthenticatorDescription,
  Credentials,
  IdentifyCaller,
  SecurityScheme,
} from "../authenticator.ts";
export type { Exchange } from "../exchange.ts";
export type { CloseOptions, CORSOptions, FetchInfo, FetchServer, ServeOptions } from "../server.ts";
export type { Heartbeat, RunStream } from "../stream-writer.ts";
export type { MCPListMode } from "./catalog.ts";
export { type ServeMCPOptions, serveMCP } from "./serve-mcp.ts";
export { type ServedMCPStdio, type ServeMCPStdioOptions, serveMCPStdio } from "./serve-stdio.ts";
export type { MCPSessionOptions } from "./sessions.ts";
export type { MCPServerOptions } from "./tool-server.ts";
