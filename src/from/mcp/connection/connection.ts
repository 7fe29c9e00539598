import type { CallError } from "../../../operation/index.ts";
import type { Unsubscribe } from "../../source.ts";

/**
 * Status of a server. A `failed` server is not running; a later call starts it again if `restart` allows it. A `closed`
 * server was closed by its owner.
 */
export type MCPServerStatus = "starting" | "ready" | "restarting" | "failed" | "closed";

/** A server's description of itself. The strings are not trusted: escape them before you display them. */
export interface MCPServerInfo {
  /** Name of the server. */
  name: string;
  /** Version of the server. */
  version: string;
  /** Display name. */
  title?: string;
  [key: string]: unknown;
}

/** A snapshot of a server's state. Every change creates a new object. */
export interface MCPServerState {
  /** Current status. Calls reach the server while it is `ready`. */
  readonly status: MCPServerStatus;
  /** Reason why the server is not ready, or the most recent reason. */
  readonly error?: CallError;
  /** The last lines that a stdio server wrote to stderr, without control characters. */
  readonly stderr: readonly string[];
  /** Number of restarts. */
  readonly restarts: number;
  /** Number of responses that were ignored because no request has their id. Absent if it is 0. */
  readonly ignoredResponses?: number;
  /** Generation and version of the negotiated protocol. Absent before the first handshake. */
  readonly protocol?: { readonly era: "legacy" | "modern"; readonly version: string };
  /** The server's description of itself. Absent before the first handshake, and if the server does not send it. */
  readonly server?: MCPServerInfo;
  /** The server's capabilities, unchanged. */
  readonly capabilities?: Readonly<Record<string, unknown>>;
  /** The server's instructions for its use. The string is not trusted. */
  readonly instructions?: string;
}

/** A tool description, unchecked and unchanged. A list item that is not an object becomes an empty object. */
export type MCPTool = Readonly<Record<string, unknown>>;

/**
 * Property of an {@link MCPTool} with the reason why the tool cannot be used, if a problem was found while reading it.
 */
export const refusalKey = "dev.alkdev/operations/refusal";

/** A result of `tools/call`, unchecked and unchanged, including unknown blocks and properties. */
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
  /** Current progress. It increases with every notification. */
  progress: number;
  /** Value of `progress` at the end, if it is known. */
  total?: number;
  /** Description of the current step. */
  message?: string;
}

/** Parameters of `tools/call`. */
export type MCPToolCall = {
  /** Name of the tool. */
  name: string;
  /** Input of the tool. */
  arguments?: Record<string, unknown>;
  /** Metadata of the protocol. */
  _meta?: Record<string, unknown>;
};

/** Options of one request. */
export interface MCPRequestOptions {
  /** Cancels the request and notifies the server. */
  signal?: AbortSignal;
  /**
   * Time limit of the whole request, in ms. Progress does not extend it. @default `timeouts.request` of the
   * configuration
   */
  timeout?: number;
  /** Receives the progress that the server reports. */
  onprogress?: (progress: MCPProgress) => void;
}

/**
 * A connection to one server that reconnects automatically. Requests that are made during a restart wait for it.
 *
 * Requests reject with a `CallError` for problems of the connection or of HTTP (`UNAVAILABLE`, `UPSTREAM_DENIED`,
 * `BAD_RESPONSE`, `PAYLOAD_TOO_LARGE`, `LIMIT_EXCEEDED`, `ABORTED`, `TIMEOUT`). They reject with an error of the SDK if
 * the server returned an error (`ProtocolError`) or a result that violates the protocol (`SdkError`).
 */
export interface MCPConnection extends AsyncDisposable {
  /** Name of the server in the configuration. */
  readonly name: string;
  /** State of the connection. */
  readonly state: MCPServerState;
  /** Reads all pages of the list of tools. Returns an empty array if the server offers no tools. */
  listTools(options?: { signal?: AbortSignal }): Promise<MCPTool[]>;
  /** Calls a tool. The result is not validated against an output schema. */
  callTool(params: MCPToolCall, options: MCPRequestOptions & { tool: MCPTool }): Promise<MCPToolResult>;
  /** Sends another request, such as `resources/list` or `prompts/get`. The result is unchecked. */
  request(method: string, params?: Record<string, unknown>, options?: MCPRequestOptions): Promise<unknown>;
  /**
   * Calls `listener` when the list of tools may have changed: after a notification from the server, or after a
   * reconnect.
   */
  onToolsChanged(listener: () => void): Unsubscribe;
  /** Calls `listener` with every new state. */
  onStateChange(listener: (state: MCPServerState) => void): Unsubscribe;
  /** Restarts the server or connects to it again, even if it has failed. Pending requests fail with `UNAVAILABLE`. */
  reconnect(): Promise<void>;
  /** Resolves when no request, socket or process of the connection is left. May be called more than once. */
  close(): Promise<void>;
}
