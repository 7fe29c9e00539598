import { Emitter } from "../../internal/emitter.ts";
import { logger } from "../../internal/log.ts";
import { onAbort } from "../../internal/wait.ts";
import { CallError, type IOperationDefinition } from "../../operation/index.ts";
import type { HeldOperation } from "../pins.ts";
import type { OperationSource, SourceChange, SourceLoadOptions, SourceTraits, Unsubscribe } from "../source.ts";
import { createMCPClient, type MCPClientWrapper, toTraits } from "./client.ts";
import type { MCPClientConfig } from "./config.ts";

const log = logger("from", "mcp");

/** Configuration of {@link mcpSource}: the name of a server, and how to start it or connect to it. */
export interface MCPSourceConfig extends MCPClientConfig {
  /**
   * Name of the server, and namespace of its operations. Characters that a namespace must not contain are replaced by
   * `_`.
   */
  name: string;
}

/**
 * Creates a source with the tools of one MCP server, for `registry.follow()`. The server is a program or an HTTP
 * server. `follow` connects to it; closing the result of `follow` disconnects it.
 * @example
 * await registry.follow(mcpSource({ name: "fs", command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] }));
 * await registry.follow(mcpSource({ name: "docs", url: "https://docs.example.com/mcp" }));
 */
export function mcpSource(config: MCPSourceConfig): MCPSource {
  if (typeof config?.name !== "string" || config.name === "") {
    const example = 'mcpSource({ name: "files", command: "npx", args: […] })';
    const message = `mcpSource() needs the name of the server, such as ${example}.`;
    throw new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
  }
  return new MCPSource(config);
}

/** One MCP server as a source that connects when it is loaded. Made by {@link mcpSource}. */
export class MCPSource implements OperationSource, AsyncDisposable {
  /** `mcp:` and the name of the server. */
  readonly name: string;
  /** Tools have the access rules of the configuration. */
  readonly traits: SourceTraits;
  readonly #config: MCPSourceConfig;
  readonly #changes = new Emitter<SourceChange>((error) =>
    log.error("A listener for tool changes failed: {error}", { error }),
  );
  #client: MCPClientWrapper | undefined;
  #loading: Promise<MCPClientWrapper> | undefined;
  /** Aborts loading. */
  #closing = new AbortController();
  #isClosed = false;

  constructor(config: MCPSourceConfig) {
    this.name = `mcp:${config.name}`;
    this.traits = toTraits(config);
    this.#config = config;
  }

  /** The connected server, with its state. `undefined` before it was loaded. */
  get client(): MCPClientWrapper | undefined {
    return this.#client;
  }

  /** Connects to the server and returns its operations. Can be called again after a rejection. */
  async load({ signal, onReport }: SourceLoadOptions = {}): Promise<IOperationDefinition[]> {
    if (this.#client !== undefined) return this.#client.load({ onReport });
    if (this.#isClosed) throw new CallError("UNAVAILABLE", `${this.name} is closed.`, undefined, { mayHaveRun: false });
    const stop = onAbort(signal, () => this.#closing.abort());
    try {
      this.#loading ??= this.#connect(onReport);
      return (await this.#loading).tools;
    } finally {
      this.#loading = undefined;
      this.#closing = new AbortController();
      stop();
    }
  }

  /** Tools of a pinned server that are waiting for approval. */
  get held(): HeldOperation[] {
    return this.#client?.held ?? [];
  }

  /** Returns the current hash of each tool by operation id, for `pinned` in a later run. */
  async hashes(): Promise<Record<string, string>> {
    return this.#client?.hashes() ?? {};
  }

  /**
   * Approves the current version of tools of a pinned server, by operation id. Without ids, approves all. An unknown id is a
   * `VALIDATION_ERROR`.
   */
  approve(...ids: string[]): void {
    if (this.#client === undefined) {
      const message = `${this.name} is not connected. Follow it with registry.follow() before you approve its tools.`;
      throw new CallError("UNAVAILABLE", message, undefined, { mayHaveRun: false });
    }
    this.#client.approve(...ids);
  }

  onChange(listener: (change: SourceChange) => void): Unsubscribe {
    return this.#changes.on(listener);
  }

  /** Resolves when the process or connection of the server has ended. May be called more than once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#closing.abort();
    await this.#loading?.catch(() => {});
    await this.#client?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #connect(onReport: SourceLoadOptions["onReport"]): Promise<MCPClientWrapper> {
    const { name, ...config } = this.#config;
    const { signal } = this.#closing;
    const client = await createMCPClient(name, { ...config, onReport: config.onReport ?? onReport }, { signal });
    client.onChange((change) => this.#changes.emit(change));
    this.#client = client;
    return client;
  }
}
