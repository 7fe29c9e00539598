import type { CallError } from "../../../operation/index.ts";
import type { Unsubscribe } from "../../source.ts";

/**
 * Status of a server. A `failed` server is not running; a later call starts it again where `restart` allows that. A
 * `closed` one was closed by its owner.
 */
export type MCPServerStatus = "starting" | "ready" | "restarting" | "failed" | "closed";

/** How a server describes itself. The strings are foreign: escape them before you show them. */
export interface MCPServerInfo {
  /** Name. */
  name: string;
  /** Version of the server. */
  version: string;
  /** Name for people. */
  title?: string;
  [key: string]: unknown;
}

/** A snapshot of one server's state. A later state is another object. */
export interface MCPServerState {
  /** Whether calls reach the server. */
  readonly status: MCPServerStatus;
  /** Why it is not ready, or was not the last time. */
  readonly error?: CallError;
  /** The last lines that a stdio server wrote to stderr, without control characters. */
  readonly stderr: readonly string[];
  /** How often it was restarted. */
  readonly restarts: number;
  /** Number of responses that were ignored because no request has their id. Absent if there were none. */
  readonly ignoredResponses?: number;
  /** Generation and version of the negotiated protocol. Absent before the first handshake. */
  readonly protocol?: { readonly era: "legacy" | "modern"; readonly version: string };
  /** Absent before the first handshake, and where the server does not send it. */
  readonly server?: MCPServerInfo;
  /** The server's capabilities as it sent them. */
  readonly capabilities?: Readonly<Record<string, unknown>>;
  /** How to use the server, in its own words. A foreign string. */
  readonly instructions?: string;
}

/** A tool as the server described it, unchecked. An item of the list that was not an object is an empty one. */
export type MCPTool = Readonly<Record<string, unknown>>;

/** Property of an {@link MCPTool} with the reason why it cannot be used, when that was found while it was read. */
export const refusalKey = "dev.alkdev/operations/refusal";

/** A result of `tools/call` as the server sent it, unchecked, with unknown blocks and properties. */
export interface MCPToolResult {
  /** Content blocks. */
  readonly content?: unknown;
  /** Structured data, which may be any JSON value. */
  readonly structuredContent?: unknown;
  /** `true` when the tool reports an error. */
  readonly isError?: unknown;
  /** Metadata of the protocol. */
  readonly _meta?: unknown;
  readonly [key: string]: unknown;
}

/** Progress of a running call. */
export interface MCPProgress {
  /** Grows with every notification. */
  progress: number;
  /** Value of `progress` at the end, where it is known. */
  total?: number;
  /** What the tool is doing. */
  message?: string;
}

/** Parameters of `tools/call`. */
export type MCPToolCall = {
  /** Name. */
  name: string;
  /** Input of the tool. */
  arguments?: Record<string, unknown>;
  /** Metadata of the protocol. */
  _meta?: Record<string, unknown>;
};

/** Options of one request. */
export interface MCPRequestOptions {
  /** Cancels the request; the server is notified. */
  signal?: AbortSignal;
  /** For the whole request, in ms; progress does not extend it. @default `timeouts.request` of the configuration */
  timeout?: number;
  /** Receives the progress that the server reports. */
  onprogress?: (progress: MCPProgress) => void;
}

/**
 * A connection to one server that restores itself. Requests made during a restart wait for it.
 *
 * Requests reject with a `CallError` for problems of the connection or of HTTP (`UNAVAILABLE`, `UPSTREAM_DENIED`,
 * `BAD_RESPONSE`, `PAYLOAD_TOO_LARGE`, `LIMIT_EXCEEDED`, `ABORTED`, `TIMEOUT`), and with the SDK's own error where the
 * server responded with one (`ProtocolError`) or with a result that the protocol does not allow (`SdkError`).
 */
export interface MCPConnection extends AsyncDisposable {
  /** Name of the server in the configuration. */
  readonly name: string;
  /** State of the connection. */
  readonly state: MCPServerState;
  /** Reads all pages of the list. Empty if the server offers no tools. */
  listTools(options?: { signal?: AbortSignal }): Promise<MCPTool[]>;
  /** Calls a tool. The result is not validated against an output schema. */
  callTool(params: MCPToolCall, options: MCPRequestOptions & { tool: MCPTool }): Promise<MCPToolResult>;
  /** Sends another request, such as `resources/list` or `prompts/get`. The result is unchecked. */
  request(method: string, params?: Record<string, unknown>, options?: MCPRequestOptions): Promise<unknown>;
  /** Called when the list of tools may have changed: by a notification of the server, or after a reconnect. */
  onToolsChanged(listener: () => void): Unsubscribe;
  /** Called with every new state. */
  onStateChange(listener: (state: MCPServerState) => void): Unsubscribe;
  /** Starts or reaches the server again, also one that has failed. Pending requests fail with `UNAVAILABLE`. */
  reconnect(): Promise<void>;
  /** Resolves when no request, socket or process of the connection is left. May be called more than once. */
  close(): Promise<void>;
}
