import type { Client, RequestOptions, StandardSchemaV1, Transport } from "@modelcontextprotocol/client";
import { logger } from "../../../internal/log.ts";
import type { MCPClientConfig } from "../config.ts";
import type { RawResult, RawTool } from "./connection.ts";
import { createElicitHandler } from "./elicit.ts";
import type { SDK } from "./load-sdk.ts";
import { type MessageTap, rawResultOf } from "./message-tap.ts";
import type { ProgramEnd } from "./program-end.ts";
import type { MCPServerState } from "./state.ts";

const log = logger("from", "mcp");

/** How this package names itself to servers. */
const clientInfo = { name: "@alkdev/operations", version: "0.1.0" };

/** Takes a result as it is; ours are looked at elsewhere. */
const anyResult: StandardSchemaV1<unknown, unknown> = {
  "~standard": { version: 1, vendor: "alkdev", validate: (value) => ({ value }) },
};

/** What the SDK calls a way to find the protocol version. */
export type Negotiation = "auto" | "legacy" | { pin: string };

/** A transport with what belongs to it. */
export interface Wire {
  transport: Transport;
  tap: MessageTap;
  kind: "stdio" | "http" | "sse" | "custom";
  /** Tells the server that it is left, where it wants to know. */
  leave?(): Promise<void>;
  /** How the program ended, where there is one and it has. */
  ended?(): ProgramEnd | undefined;
}

/** What a link tells about itself. */
export interface LinkListener {
  /** It ended without being closed. Told once. */
  onLost(link: Link): void;
  onToolsChanged(): void;
}

/** One connected client of the SDK. Ends once and is then replaced by another. */
export class Link {
  readonly kind: Wire["kind"];
  readonly client: Client;
  /** Set when the server has forgotten the session; nothing that was asked in it has run. */
  sessionLost = false;
  /** Set when nothing can be asked any more. */
  ended = false;
  readonly #wire: Wire;
  readonly #mirrorsArguments: boolean;
  readonly #listener: LinkListener;
  #active = 0;
  #onIdle: (() => void) | undefined;

  private constructor(client: Client, wire: Wire, listener: LinkListener) {
    this.#listener = listener;
    this.client = client;
    this.#wire = wire;
    this.kind = wire.kind;
    this.#mirrorsArguments = client.getProtocolEra() === "modern" && wire.kind !== "stdio";
  }

  /** Connects. On failure the wire is closed, and what it started is gone. */
  static async open(
    sdk: SDK,
    name: string,
    config: MCPClientConfig,
    wire: Wire,
    mode: Negotiation,
    listener: LinkListener,
    options: { signal: AbortSignal; timeout: number },
  ): Promise<Link> {
    const { onElicit } = config;
    const client = new sdk.Client(clientInfo, {
      versionNegotiation: { mode },
      capabilities: onElicit === undefined ? {} : { elicitation: { form: {}, url: {} } },
      inputRequired: { autoFulfill: onElicit !== undefined },
    });
    if (onElicit !== undefined)
      client.setRequestHandler("elicitation/create", createElicitHandler(sdk, name, onElicit));
    client.setNotificationHandler("notifications/tools/list_changed", () => listener.onToolsChanged());
    // Noise that harms no request: an unknown id, progress that came too late.
    client.onerror = (error) => log.debug("{name}: {error}", { name, error });

    const { transport } = wire;
    // The SDK does not look at the signal while it finds out the version.
    const abort = () => void transport.close();
    options.signal.addEventListener("abort", abort, { once: true });
    try {
      options.signal.throwIfAborted();
      await client.connect(transport, options);
      options.signal.throwIfAborted();
    } catch (error) {
      await transport.close().catch(ignore);
      throw error;
    } finally {
      options.signal.removeEventListener("abort", abort);
    }
    const link = new Link(client, wire, listener);
    client.onclose = () => link.#lose();
    // It may have ended in the very moment before.
    if (client.transport === undefined) client.onclose();
    return link;
  }

  /** How the program of this link ended, once it has. */
  get programEnd(): ProgramEnd | undefined {
    return this.#wire.ended?.();
  }

  /** Whether the server answered that it does not know the session, so that the request has not run. */
  isForgotten(error: unknown): boolean {
    if (this.kind !== "http") return false;
    const { status, data } = error as { status?: unknown; data?: { text?: unknown } };
    // Some servers say so with 400, and only in words.
    if (status === 400 && typeof data?.text === "string" && /session/i.test(data.text)) this.forget();
    return this.sessionLost && (status === 404 || status === 400);
  }

  /** The server does not know the session any more: another is needed. */
  forget(): void {
    if (this.kind !== "http" || this.ended) return;
    this.sessionLost = true;
    this.#lose();
  }

  #lose(): void {
    if (this.ended) return;
    this.ended = true;
    this.#listener.onLost(this);
  }

  async callTool(
    params: { name: string; arguments?: Record<string, unknown>; _meta?: Record<string, unknown> },
    tool: RawTool,
    options: RequestOptions,
  ): Promise<RawResult> {
    if (!this.#mirrorsArguments || !hasHeaderArguments(tool))
      return this.request("tools/call", params, options) as Promise<RawResult>;
    // Marked arguments go into headers too, which only this way of calling does.
    const { outputSchema: _, ...toolDefinition } = tool;
    this.#active++;
    try {
      const result = await this.client.callTool(params, { ...options, toolDefinition: toolDefinition as never });
      return rawResultOf(result) as RawResult;
    } finally {
      this.#settled();
    }
  }

  async request(method: string, params: Record<string, unknown>, options: RequestOptions): Promise<unknown> {
    this.#active++;
    try {
      return rawResultOf(await this.client.request({ method, params }, anyResult, options));
    } finally {
      this.#settled();
    }
  }

  #settled(): void {
    if (--this.#active === 0) this.#onIdle?.();
  }

  /** What the server said about itself. */
  describe(): Pick<MCPServerState, "protocol" | "server" | "capabilities" | "instructions"> {
    const { client } = this;
    return {
      protocol: {
        era: client.getProtocolEra() ?? "legacy",
        version: client.getNegotiatedProtocolVersion() ?? "",
      },
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    };
  }

  /** Closes when the last request has its answer. */
  async closeWhenIdle(): Promise<void> {
    if (this.#active > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    await this.close();
  }

  async close(): Promise<void> {
    const lost = this.ended;
    this.ended = true;
    if (!lost && !this.sessionLost) await this.#wire.leave?.().catch(ignore);
    await this.client.close().catch(ignore);
    await this.#wire.transport.close().catch(ignore);
  }
}

const headerArguments = new WeakMap<RawTool, boolean>();

/** Whether some arguments of a tool go into headers too. Found once: the SDK would read the whole schema at each call. */
function hasHeaderArguments(tool: RawTool): boolean {
  let known = headerArguments.get(tool);
  if (known === undefined) {
    known = JSON.stringify(tool["inputSchema"] ?? {}).includes('"x-mcp-header":');
    headerArguments.set(tool, known);
  }
  return known;
}

function ignore(): void {}
