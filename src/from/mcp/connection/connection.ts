import type { Unsubscribe } from "../../source.ts";
import type { MCPServerState } from "./state.ts";

/** A tool as the server described it. Nothing in it has been checked; an item that was no object is an empty one. */
export type RawTool = Readonly<Record<string, unknown>>;

/** Where a tool says why it cannot be used, when that was found while it was read. It has its name besides. */
export const refusalKey = "dev.alkdev/operations/refusal";

/** A result of `tools/call` as the server sent it. Nothing in it has been checked, unknown blocks and keys included. */
export interface RawResult {
  readonly content?: unknown;
  readonly structuredContent?: unknown;
  readonly isError?: unknown;
  readonly _meta?: unknown;
  readonly [key: string]: unknown;
}

/** How far a running call is. */
export interface MCPProgress {
  progress: number;
  total?: number;
  message?: string;
}

/** What can be said about one request. */
export interface MCPRequestOptions {
  signal?: AbortSignal;
  /** For the whole request, in ms; progress does not extend it. @default `timeouts.request` of the configuration */
  timeout?: number;
  onprogress?: (progress: MCPProgress) => void;
}

/**
 * A live link to one server that restarts itself. Requests made while it restarts wait for it.
 *
 * Requests reject with a `CallError` for what happened to the link or to HTTP (`UNAVAILABLE`, `UPSTREAM_DENIED`,
 * `BAD_RESPONSE`, `PAYLOAD_TOO_LARGE`, `LIMIT_EXCEEDED`, `ABORTED`, `TIMEOUT`), and with the SDK's own error where
 * the server answered with one (`ProtocolError`) or with a result that the protocol does not allow (`SdkError`).
 */
export interface MCPConnection {
  readonly name: string;
  readonly state: MCPServerState;
  /** All pages, each tool as it came, unvalidated. None where the server offers no tools. */
  listTools(options?: { signal?: AbortSignal }): Promise<RawTool[]>;
  /** The raw result, not validated against any output schema. */
  callTool(
    params: { name: string; arguments?: Record<string, unknown>; _meta?: Record<string, unknown> },
    options: MCPRequestOptions & { tool: RawTool },
  ): Promise<RawResult>;
  /** Other requests, such as `resources/list` or `prompts/get`. The result is as it came. */
  request(method: string, params?: Record<string, unknown>, options?: MCPRequestOptions): Promise<unknown>;
  /** Hears that the list of tools may have changed: told by the server in either generation, or after a reconnect. */
  onToolsChanged(listener: () => void): Unsubscribe;
  onStateChange(listener: (state: MCPServerState) => void): Unsubscribe;
  /** Starts or reaches the server anew, also one that was given up. Pending requests fail with `UNAVAILABLE`. */
  reconnect(): Promise<void>;
  /** Resolves when nothing is left: no request, no socket, no process. Calling it twice is fine. */
  close(): Promise<void>;
}
