import { CallError, type OperationContext } from "../../operation/index.ts";
import { MCPClientWrapper } from "./client.ts";
import type { MCPClientConfig } from "./config.ts";
import type { MCPConnection, MCPRequestOptions, MCPServerState, MCPTool, MCPToolResult } from "./connection/index.ts";

/** Creates a tool with overrides. */
export function mcpTool(tool: Record<string, unknown> = {}): MCPTool {
  return { name: "echo", description: "Repeats it", inputSchema: { type: "object" }, ...tool };
}

type Call = (
  params: { name: string; arguments?: Record<string, unknown> },
  options: MCPRequestOptions & { tool: MCPTool },
) => MCPToolResult | Promise<MCPToolResult>;

/** A connection without a server. Tests can replace its parts at any time. */
export class FakeConnection implements MCPConnection {
  readonly name: string;
  state: MCPServerState = {
    status: "ready",
    stderr: [],
    restarts: 0,
    protocol: { era: "modern", version: "2026-07-28" },
    server: { name: "fake", version: "1.2.3" },
    capabilities: { tools: {}, resources: {}, prompts: {} },
  };
  tools: MCPTool[] | (() => Promise<MCPTool[]>) = [mcpTool()];
  call: Call = () => ({ content: [] });
  respond: (method: string, params?: Record<string, unknown>) => unknown = () => ({});
  lists = 0;
  readonly #listeners = new Set<() => void>();

  constructor(name = "fake") {
    this.name = name;
  }

  async listTools(): Promise<MCPTool[]> {
    this.lists += 1;
    return typeof this.tools === "function" ? this.tools() : this.tools;
  }

  async callTool(...call: Parameters<Call>): Promise<MCPToolResult> {
    return this.call(...call);
  }

  async request(method: string, params?: Record<string, unknown>): Promise<unknown> {
    return this.respond(method, params);
  }

  onToolsChanged(listener: () => void) {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  onStateChange() {
    return () => {};
  }

  async reconnect(): Promise<void> {}

  async close(): Promise<void> {
    this.state = { ...this.state, status: "closed" };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Replaces the tools and notifies the listeners. */
  announce(...tools: MCPTool[]): void {
    this.tools = tools;
    for (const listener of this.#listeners) listener();
  }
}

/** Creates a wrapper around a fake connection, after its first load. */
export async function wrap(connection: FakeConnection, config: MCPClientConfig = {}): Promise<MCPClientWrapper> {
  const wrapper = new MCPClientWrapper(connection, { onReport: () => {}, ...config });
  await wrapper.refresh();
  return wrapper;
}

/** Creates an error like those of the SDK. */
export function sdkError(code: number | string, message: string, data?: unknown): Error {
  return Object.assign(new Error(message), { code, data });
}

/** Creates a call context that cannot be aborted. */
export function context(overrides: Partial<OperationContext> = {}): OperationContext {
  return {
    requestId: "1",
    abortable: false,
    metadata: {},
    env: {},
    call: () => Promise.reject(new Error("This context calls no operation.")),
    errors: {},
    progress() {},
    get signal(): AbortSignal {
      throw new CallError("EXECUTION_ERROR", "The signal is not needed.");
    },
    ...overrides,
  };
}
