import type { CallError } from "../../../operation/index.ts";

/**
 * Where a server is in its life. `failed` is not running, and is started again by a later call where `restart` allows
 * that; `closed` was asked for.
 */
export type MCPServerStatus = "starting" | "ready" | "restarting" | "failed" | "closed";

/** What a server says about itself. Its text is foreign: show it with care. */
export interface MCPServerInfo {
  name: string;
  version: string;
  title?: string;
  [key: string]: unknown;
}

/** What is known about one server. A snapshot: a later state is another object. */
export interface MCPServerState {
  readonly status: MCPServerStatus;
  /** Why it is not ready, or was not the last time. */
  readonly error?: CallError;
  /** The last lines that a stdio server wrote to stderr, without control characters. */
  readonly stderr: readonly string[];
  /** How often it was started again. */
  readonly restarts: number;
  /** How many responses were ignored because their id was a string, and no request had it. Absent for none. */
  readonly ignoredResponses?: number;
  readonly protocol?: { readonly era: "legacy" | "modern"; readonly version: string };
  readonly server?: MCPServerInfo;
  readonly capabilities?: Readonly<Record<string, unknown>>;
  /** How the server wants to be used. Foreign text. */
  readonly instructions?: string;
}
