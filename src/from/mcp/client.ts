import { Emitter } from "../../internal/emitter.ts";
import { logger } from "../../internal/log.ts";
import { onAbort } from "../../internal/wait.ts";
import { CallError, formatOperationId, type IOperationDefinition, toNamespace } from "../../operation/inside.ts";
import { type HeldOperation, Pins } from "../pins.ts";
import { ReportBuilder } from "../report.ts";
import {
  compareOperations,
  isEmptyChange,
  type OperationSource,
  type SourceChange,
  type SourceLoadOptions,
  type SourceReport,
  type SourceTraits,
  type Unsubscribe,
} from "../source.ts";
import type { MCPClientConfig } from "./config.ts";
import { type MCPConnection, type MCPServerState, openConnection } from "./connection/index.ts";
import { toServerOperations } from "./server-requests.ts";
import { type ListedTool, readTools } from "./tool-list.ts";
import type { MCPOperation, ToolHost } from "./tool-operation.ts";

const log = logger("from", "mcp");

/**
 * Connects to a server and reads its tools. Rejects with a `CallError` on failure, or when the signal fires first. No
 * connection or process is left open after a rejection.
 */
export async function createMCPClient(
  name: string,
  config: MCPClientConfig,
  options: { signal?: AbortSignal } = {},
): Promise<MCPClientWrapper> {
  const { signal } = options;
  const connection = await openConnection(name, config, options);
  const stopListening = onAbort(signal, () => void connection.close());
  try {
    const wrapper = new MCPClientWrapper(connection, config);
    await wrapper.refresh();
    if (signal?.aborted) throw closed(name);
    return wrapper;
  } catch (error) {
    await connection.close();
    throw error;
  } finally {
    stopListening();
  }
}

/** Closes a server. Resolves when its process or connection has ended. May be called more than once. */
export async function closeMCPClient(wrapper: MCPClientWrapper): Promise<void> {
  await wrapper.close();
}

/**
 * Minimum time between two automatic reads of the list of tools, in ms. {@link MCPClientWrapper.refresh} ignores it.
 */
const minReadIntervalMs = 1_000;

/** A connected server and its operations. A source for `registry.follow(wrapper)`. */
export class MCPClientWrapper implements OperationSource, AsyncDisposable {
  /** Name of the server in the configuration. */
  readonly name: string;
  /** Namespace of the operations: the name, with characters that a namespace must not contain replaced. */
  readonly namespace: string;
  /** Tools have the access rules of the configuration. */
  readonly traits: SourceTraits;
  /** The connection to the server. Use it to send other requests and to restart the server. */
  readonly connection: MCPConnection;
  readonly #host: ToolHost;
  readonly #pins: Pins<MCPOperation>;
  readonly #serverOperations: readonly MCPOperation[];
  readonly #changes = new Emitter<SourceChange>((error) =>
    log.error("A listener for tool changes failed: {error}", { error }),
  );
  readonly #stopListening: Unsubscribe;
  #listed: ReadonlyMap<string, ListedTool> = new Map();
  #offered: ReadonlyMap<string, MCPOperation> = new Map();
  /** Skipped tools and warnings of the last read, before pins are applied. */
  #reading = new ReportBuilder();
  #report = this.#reading;
  #onReport: MCPClientConfig["onReport"];
  #delivered: SourceReport | undefined;
  #isLoaded = false;
  #refreshing: Promise<void> | undefined;
  #isStale = false;
  /** The next read of the list. It starts when {@link minReadIntervalMs} has passed. */
  #waiting: { read: Promise<void>; start: () => void; timer: ReturnType<typeof setTimeout> } | undefined;
  #nextReadAt = Number.NEGATIVE_INFINITY;

  constructor(connection: MCPConnection, config: MCPClientConfig) {
    this.name = connection.name;
    this.namespace = toNamespace(connection.name);
    this.traits = toTraits(config);
    this.connection = connection;
    this.#pins = new Pins(config.pinned);
    this.#onReport = config.onReport;
    this.#host = { namespace: this.namespace, connection, config, hasTool: (name) => this.#hasTool(name) };
    this.#serverOperations = toServerOperations(this.#host);
    this.#stopListening = connection.onToolsChanged(() => this.#refreshQuietly());
  }

  /** The current operations of the server, ready to be registered. */
  get tools(): MCPOperation[] {
    return [...this.#offered.values()];
  }

  /** The current state of the server. */
  get state(): MCPServerState {
    return this.connection.state;
  }

  /** Imported and skipped tools of the last read. */
  get report(): SourceReport {
    return this.#report.report;
  }

  /** Tools of a pinned server that are waiting for approval. */
  get held(): HeldOperation[] {
    return this.#pins.held(this.#listedById());
  }

  /** Returns the current hash of each tool by operation id, for `pinned` in a later run. */
  async hashes(): Promise<Record<string, string>> {
    return Object.fromEntries(Array.from(this.#listedById(), ([id, { hash }]) => [id, hash]));
  }

  /** Returns the operations of the last read; {@link refresh} reads them again. `onReport` receives the last report. */
  async load({ onReport }: SourceLoadOptions = {}): Promise<IOperationDefinition[]> {
    if (this.state.status === "closed") throw closed(this.name);
    this.#onReport ??= onReport;
    onReport?.(this.report);
    return this.tools;
  }

  /** Called with the operations that the server added, changed and removed. */
  onChange(listener: (change: SourceChange) => void): Unsubscribe {
    return this.#changes.on(listener);
  }

  /** Reads the list of tools again and emits the changes. If the list cannot be read, rejects and changes nothing. */
  refresh(): Promise<void> {
    this.#isStale = true;
    this.#refreshing ??= this.#refreshUntilFresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /**
   * Approves the current version of tools of a pinned server, by operation id. Without ids, approves all. An unknown id is a
   * `VALIDATION_ERROR`.
   */
  approve(...ids: string[]): void {
    this.#pins.approve(ids, this.#listedById(), `mcp:${this.name}`);
    this.#offer();
  }

  /** Resolves when the process or connection of the server has ended. May be called more than once. */
  async close(): Promise<void> {
    this.#stopListening();
    await this.connection.close();
    this.#waiting?.start(); // It fails immediately, so its callers do not wait.
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Reads the list, and reads it again if it changed in the meantime. */
  async #refreshUntilFresh(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      await this.#read();
    }
  }

  async #read(): Promise<void> {
    const reading = new ReportBuilder();
    const tools = await this.connection.listTools();
    this.#listed = await readTools(tools, this.#host, this.#listed, reading);
    this.#reading = reading;
    this.#pins.approveFirst(this.#listedById());
    const hasChanged = this.#offer();
    if (hasChanged || !this.#isLoaded) {
      this.#report.deliver({ source: this.name, onReport: this.#onReport, log, previous: this.#delivered });
      this.#delivered = this.report;
    }
    this.#isLoaded = true;
  }

  /** Reads the list again, but at most once in {@link minReadIntervalMs}. */
  #refreshSoon(): Promise<void> {
    if (this.#waiting !== undefined) return this.#waiting.read;
    const wait = this.#nextReadAt - performance.now();
    if (wait <= 0) return this.#readNow();
    let start = () => {};
    const read = new Promise<void>((resolve) => {
      start = () => {
        clearTimeout(this.#waiting?.timer);
        this.#waiting = undefined;
        resolve(this.#readNow());
      };
    });
    this.#waiting = { read, start, timer: setTimeout(start, wait) };
    return read;
  }

  #readNow(): Promise<void> {
    this.#nextReadAt = performance.now() + minReadIntervalMs;
    return this.refresh();
  }

  #refreshQuietly(): void {
    this.#refreshSoon().catch((error: unknown) => {
      if (this.state.status === "closed") return;
      log.warn("The tools of the MCP server {server} could not be read again: {error}", { server: this.name, error });
    });
  }

  /** Replaces the operations with the listed tools that are approved. Returns whether the operations changed. */
  #offer(): boolean {
    const report = new ReportBuilder(this.#reading);
    const offered = new Map<string, MCPOperation>();
    for (const [id, listed] of this.#listedById()) {
      const operation = this.#pins.offer(id, listed);
      if (operation !== listed.operation) {
        report.skipped(`tool "${listed.operation.name}"`, "It differs from the approved version.");
      }
      if (operation !== undefined) offered.set(id, operation);
    }
    for (const operation of this.#serverOperations) {
      const id = formatOperationId(this.namespace, operation.name);
      if (offered.has(id)) report.skipped(`operation "${operation.name}"`, "A tool has the same name.");
      else offered.set(id, operation);
    }
    for (const id of offered.keys()) report.imported(id);
    const change = compareOperations(this.#offered, offered, unchangedIfIdentical);
    this.#offered = offered;
    this.#report = report;
    const hasChanged = !isEmptyChange(change);
    if (hasChanged && this.#isLoaded) this.#changes.emit(change);
    return hasChanged;
  }

  #listedById(): Map<string, ListedTool> {
    const byId = new Map<string, ListedTool>();
    for (const listed of this.#listed.values()) {
      const { namespace, name } = listed.operation; // A trusted server chooses both.
      byId.set(formatOperationId(namespace, name), listed);
    }
    return byId;
  }

  async #hasTool(name: string): Promise<boolean> {
    try {
      await this.#refreshSoon();
      return this.#listed.has(name);
    } catch {
      return true; // The list could not be read.
    }
  }
}

/** Returns the traits of a server. One that is trusted chooses the ids of its operations. */
export function toTraits({ trust }: MCPClientConfig): SourceTraits {
  return { replacesAccess: true, ...(trust !== undefined && { foreignIds: true }) };
}

/** A tool that has not changed keeps its operation. */
const unchangedIfIdentical = {
  isSame: (before: MCPOperation, after: MCPOperation) => before === after,
  toDefinition: (operation: MCPOperation) => operation,
};

function closed(name: string): CallError {
  return new CallError("UNAVAILABLE", `The MCP server "${name}" was closed.`, undefined, { mayHaveRun: false });
}
