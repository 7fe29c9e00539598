import type {
  Client,
  ElicitRequest,
  ElicitResult,
  RequestOptions,
  StandardSchemaV1,
} from "@modelcontextprotocol/client";
import { logger } from "../../../internal/log.ts";
import { onAbort } from "../../../internal/wait.ts";
import type { MCPClientConfig } from "../config.ts";
import type { MCPServerState, MCPTool, MCPToolCall, MCPToolResult } from "./connection.ts";
import { fromPlaceholder } from "./message-filter.ts";
import type { ProgramEnd } from "./program-output.ts";
import type { ConnectionSettings, SDK } from "./settings.ts";
import type { MCPTransport } from "./transports.ts";

const log = logger("from", "mcp");

/** Replaced by the version in package.json when the package is built. */
declare const __PACKAGE_VERSION__: string | undefined;

/** The name and version that servers receive. */
const clientInfo = {
  name: "@alkdev/operations",
  version: typeof __PACKAGE_VERSION__ === "string" ? __PACKAGE_VERSION__ : "0.0.0-development",
};

/** Accepts any result. Results are checked where they are used. */
const anyResult: StandardSchemaV1<unknown, unknown> = {
  "~standard": { version: 1, vendor: "alkdev", validate: (value) => ({ value }) },
};

/** Mode in which the SDK negotiates the protocol version. */
export type Negotiation = "auto" | "legacy" | { pin: string };

/** Receives the events of a session. */
export interface SessionListener {
  /** Called once if the session ends without being closed. */
  onLost(session: MCPSession): void;
  onToolsChanged(): void;
}

/** Limits of the handshake. */
export interface OpenOptions {
  signal: AbortSignal;
  /** Time limit, in ms. */
  timeout: number;
}

/** One connected client of the SDK. After it has ended, the connection opens another session. */
export class MCPSession {
  readonly kind: MCPTransport["kind"];
  readonly client: Client;
  /** Whether the server no longer has the session. Requests that it refused for this reason have not run. */
  isExpired = false;
  /** Whether the session no longer accepts requests. */
  isEnded = false;
  readonly #transport: MCPTransport;
  readonly #mirrorsArguments: boolean;
  readonly #listener: SessionListener;
  #pending = 0;
  #onIdle: (() => void) | undefined;

  private constructor(client: Client, transport: MCPTransport, listener: SessionListener) {
    this.#listener = listener;
    this.client = client;
    this.#transport = transport;
    this.kind = transport.kind;
    this.#mirrorsArguments = client.getProtocolEra() === "modern" && transport.kind !== "stdio";
  }

  /** Connects. After a failure, the transport is closed and the program that it started has ended. */
  static async open(
    { sdk, name, config }: ConnectionSettings,
    transport: MCPTransport,
    mode: Negotiation,
    listener: SessionListener,
    options: OpenOptions,
  ): Promise<MCPSession> {
    const { onElicit } = config;
    const client = new sdk.Client(clientInfo, {
      versionNegotiation: { mode },
      capabilities: onElicit === undefined ? {} : { elicitation: { form: {}, url: {} } },
      inputRequired: { autoFulfill: onElicit !== undefined },
    });
    if (onElicit !== undefined)
      client.setRequestHandler("elicitation/create", createElicitHandler(sdk, name, onElicit));
    client.setNotificationHandler("notifications/tools/list_changed", () => listener.onToolsChanged());
    // These errors do not belong to a request: an unknown id, or progress that arrived too late.
    client.onerror = (error) => log.debug("{name}: {error}", { name, error });

    // The SDK ignores the signal during version negotiation.
    const stopListening = onAbort(options.signal, () => void transport.sdkTransport.close());
    try {
      options.signal.throwIfAborted();
      await client.connect(transport.sdkTransport, options);
      options.signal.throwIfAborted();
    } catch (error) {
      await transport.sdkTransport.close().catch(ignore);
      throw error;
    } finally {
      stopListening();
    }
    const session = new MCPSession(client, transport, listener);
    client.onclose = () => session.#lose();
    // The connection may have ended before the listener was set.
    if (client.transport === undefined) client.onclose();
    return session;
  }

  /** How the program of this session ended. `undefined` while it runs. */
  get programEnd(): ProgramEnd | undefined {
    return this.#transport.programEnd?.();
  }

  /** Whether the error means that the server no longer has the session, so that the request has not run. */
  isExpiry(error: unknown): boolean {
    if (this.kind !== "http") return false;
    const { status, data } = error as { status?: unknown; data?: { text?: unknown } };
    // Some servers respond with 400 and mention the session only in the body.
    if (status === 400 && typeof data?.text === "string" && /session/i.test(data.text)) this.expire();
    return this.isExpired && (status === 404 || status === 400);
  }

  /** Ends a session that the server no longer has. */
  expire(): void {
    if (this.kind !== "http" || this.isEnded) return;
    this.isExpired = true;
    this.#lose();
  }

  #lose(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.#listener.onLost(this);
  }

  async callTool(params: MCPToolCall, tool: MCPTool, options: RequestOptions): Promise<MCPToolResult> {
    if (!this.#mirrorsArguments || !hasHeaderArguments(tool)) {
      return (await this.request("tools/call", params, options)) as MCPToolResult;
    }
    // Only this method of the SDK sends marked arguments as headers too.
    const { outputSchema: _, ...toolDefinition } = tool;
    const call = this.client.callTool(params, { ...options, toolDefinition: toolDefinition as never });
    return (await this.#track(call)) as MCPToolResult;
  }

  request(method: string, params: Record<string, unknown>, options: RequestOptions): Promise<unknown> {
    return this.#track(this.client.request({ method, params }, anyResult, options));
  }

  async #track(request: Promise<unknown>): Promise<unknown> {
    this.#pending++;
    try {
      return fromPlaceholder(await request);
    } finally {
      if (--this.#pending === 0) this.#onIdle?.();
    }
  }

  /** Returns the server information from the handshake. */
  describe(): Pick<MCPServerState, "protocol" | "server" | "capabilities" | "instructions"> {
    const { client } = this;
    return {
      protocol: { era: client.getProtocolEra() ?? "legacy", version: client.getNegotiatedProtocolVersion() ?? "" },
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    };
  }

  /** Closes when the last pending request has settled. */
  async closeWhenIdle(): Promise<void> {
    if (this.#pending > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    await this.close();
  }

  async close(): Promise<void> {
    const wasLost = this.isEnded;
    this.isEnded = true;
    if (!wasLost && !this.isExpired) await this.#transport.terminateSession?.();
    await this.client.close().catch(ignore);
    await this.#transport.sdkTransport.close().catch(ignore);
  }
}

const headerArguments = new WeakMap<MCPTool, boolean>();

/**
 * Whether some arguments of a tool are also sent as headers. Cached, because the SDK would search the schema on each
 * call.
 */
function hasHeaderArguments(tool: MCPTool): boolean {
  let known = headerArguments.get(tool);
  if (known === undefined) {
    known = JSON.stringify(tool["inputSchema"] ?? {}).includes('"x-mcp-header":');
    headerArguments.set(tool, known);
  }
  return known;
}

const internalError = -32603;

/**
 * Converts both modes of elicitation into one request for `onElicit`. Errors of that function are logged and not sent
 * to the server, because they may contain secrets.
 */
function createElicitHandler(
  sdk: SDK,
  server: string,
  onElicit: NonNullable<MCPClientConfig["onElicit"]>,
): (request: ElicitRequest, context: { mcpReq: { signal: AbortSignal } }) => Promise<ElicitResult> {
  return async ({ params: typed }, context) => {
    const params = typed as Record<string, unknown>;
    try {
      const { action, content } = await onElicit(
        {
          server,
          message: typed.message,
          mode: typed.mode === "url" ? "url" : "form",
          requestedSchema: params["requestedSchema"],
          url: params["url"] as string | undefined,
          params,
        },
        { signal: context.mcpReq.signal },
      );
      return content === undefined ? { action } : { action, content };
    } catch (error) {
      log.error("onElicit of the MCP server {server} failed: {error}", { server, error });
      throw new sdk.ProtocolError(internalError, "The request for input failed.");
    }
  };
}

function ignore(): void {}
