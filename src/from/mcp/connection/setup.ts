import type { AuthProvider, OAuthClientProvider } from "@modelcontextprotocol/client";
import type { MCPClientConfig, MCPTimeouts } from "../config.ts";
import type { SDK } from "./load-sdk.ts";
import { secretsOf } from "./secrets.ts";
import { StderrLines } from "./stderr-lines.ts";

/** The longest delay that a timer takes; a longer one would fire at once. */
export const longestTimeout = 2 ** 31 - 1;

/** What stays the same over all links of one connection. */
export interface Setup {
  readonly sdk: SDK;
  readonly name: string;
  readonly config: MCPClientConfig;
  readonly timeouts: Required<MCPTimeouts>;
  readonly secrets: Set<string>;
  readonly lines: StderrLines;
  readonly lineBytes: number;
  readonly pages: number;
  authProvider?: AuthProvider | OAuthClientProvider;
  /** What the last connection has found out, so that the next need not try. */
  known?: { transport?: "http" | "sse"; modern?: boolean };
}

/** Fills in the defaults. */
export function createSetup(sdk: SDK, name: string, config: MCPClientConfig): Setup {
  const { timeouts = {}, limits = {} } = config;
  const secrets = secretsOf(config);
  return {
    sdk,
    name,
    config,
    secrets,
    lines: new StderrLines(secrets),
    lineBytes: limits.lineBytes ?? 10 * 1024 * 1024,
    pages: limits.pages ?? 64,
    timeouts: {
      connect: clampTimeout(timeouts.connect ?? 60_000),
      request: clampTimeout(timeouts.request ?? 60_000),
      stop: clampTimeout(timeouts.stop ?? 2_000),
      kill: clampTimeout(timeouts.kill ?? 3_000),
    },
  };
}

/** Makes a number of ms fit for a timer; `Infinity` is the longest. */
export function clampTimeout(milliseconds: number): number {
  return Number.isNaN(milliseconds) ? longestTimeout : Math.min(Math.max(Math.ceil(milliseconds), 0), longestTimeout);
}
