import { maxTimerDelay } from "../../../internal/timers.ts";
import { defaultLimits, resolveDuration, resolveLimits } from "../../../operation/index.ts";
import type { MCPClientConfig, MCPLimits, MCPTimeouts } from "../config.ts";
import type { Authorisation } from "./auth.ts";
import type { SDK } from "./load-sdk.ts";
import { secretsOf } from "./secrets.ts";
import { StderrLines } from "./stderr-lines.ts";

/** What stays the same over all links of one connection. */
export interface Setup {
  readonly sdk: SDK;
  readonly name: string;
  readonly config: MCPClientConfig;
  readonly timeouts: Required<MCPTimeouts>;
  readonly secrets: Set<string>;
  readonly lines: StderrLines;
  readonly limits: Readonly<Required<MCPLimits>>;
  authorisation?: Authorisation;
  /** Over all links, for the state of the server. */
  ignoredResponses: number;
  /** What the last connection has found out, so that the next need not try. */
  known?: { transport?: "http" | "sse"; modern?: boolean };
}

const defaultMCPLimits: Required<MCPLimits> = { ...defaultLimits, lineBytes: 10 * 1024 * 1024, pages: 64 };

/** Fills in the defaults. Throws `VALIDATION_ERROR` on a number that is invalid. */
export function createSetup(sdk: SDK, name: string, config: MCPClientConfig): Setup {
  const { timeouts = {} } = config;
  const secrets = secretsOf(config);
  return {
    sdk,
    name,
    config,
    secrets,
    lines: new StderrLines(secrets),
    limits: resolveLimits(config.limits, defaultMCPLimits),
    ignoredResponses: 0,
    timeouts: {
      connect: resolveDuration("timeouts.connect", timeouts.connect, 60_000),
      request: resolveDuration("timeouts.request", timeouts.request, 60_000),
      stop: resolveDuration("timeouts.stop", timeouts.stop, 2_000),
      kill: resolveDuration("timeouts.kill", timeouts.kill, 3_000),
    },
  };
}

/** Makes the time that a request has left fit for a timer; `Infinity` is the longest, and 0 is no time. */
export function toTimeLeft(milliseconds: number): number {
  return Number.isNaN(milliseconds) ? 0 : Math.min(Math.max(Math.ceil(milliseconds), 0), maxTimerDelay);
}
