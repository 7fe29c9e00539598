import { onAbort } from "../../internal/abort-listeners.ts";
import { Emitter } from "../../internal/emitter.ts";
import { CallError, formatOperationId, type IOperationDefinition } from "../../operation/index.ts";
import type { OperationSource, SourceChange, SourceReport, Unsubscribe } from "../source.ts";
import type { MCPClientConfig } from "./config.ts";
import { type MCPConnection, type MCPServerState, openConnection } from "./connection/index.ts";
import { toNamespace } from "./names.ts";
import { type HeldTool, Pins } from "./pins.ts";
import { toPromptOperations } from "./prompts.ts";
import { log, ReportBook } from "./report.ts";
import { toResourceOperations } from "./resources.ts";
import { type ListedTool, readTools } from "./tool-list.ts";
import type { MCPOperation, ToolHost } from "./tool-operation.ts";

/**
 * Connects to a server and reads its tools. Rejects with a `CallError`, also when the signal fires before that is done,
 * and then nothing is left running.
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

/** Closes a server. Resolves when nothing of it is left, no process either. Calling it twice is fine. */
export async function closeMCPClient(wrapper: MCPClientWrapper): Promise<void> {
  await wrapper.close();
}

/** Least time between two reads of the list of tools that were not asked for by {@link MCPClientWrapper.refresh}, in ms. */
const minReadInterval = 1_000;

/** One connected server and its operations. A source that a registry can follow: `registry.follow(wrapper)`. */
export class MCPClientWrapper implements OperationSource, AsyncDisposable {
  /** As in the configuration; the operations' namespace is this, made to fit. */
  readonly name: string;
  readonly namespace: string;
  readonly connection: MCPConnection;
  readonly #host: ToolHost;
  readonly #pins: Pins;
  readonly #extras: readonly MCPOperation[];
  readonly #changes = new Emitter<SourceChange>((error) => log.error("A listener failed: {error}", { error }));
  readonly #stopListening: Unsubscribe;
  #listed: ReadonlyMap<string, ListedTool> = new Map();
  #offered: ReadonlyMap<string, MCPOperation> = new Map();
  /** What was said about the list of tools itself. */
  #reading = new ReportBook();
  #report = this.#reading;
  #isLoaded = false;
  #refreshing: Promise<void> | undefined;
  #isStale = false;
  /** The next read of the list that waits for its time, shared by everything that needs one. */
  #waiting: { read: Promise<void>; start: () => void; timer: ReturnType<typeof setTimeout> } | undefined;
  #nextReadAt = Number.NEGATIVE_INFINITY;

  constructor(connection: MCPConnection, config: MCPClientConfig) {
    this.name = connection.name;
    this.namespace = toNamespace(connection.name);
    this.connection = connection;
    this.#pins = new Pins(config.pinned);
    this.#host = { namespace: this.namespace, connection, config, hasTool: (name) => this.#hasTool(name) };
    this.#extras = [...toResourceOperations(this.#host), ...toPromptOperations(this.#host)];
    this.#stopListening = connection.onToolsChanged(() => this.#refreshQuietly());
  }

  /** The server's operations as they are now, ready to register. */
  get tools(): MCPOperation[] {
    return [...this.#offered.values()];
  }

  get state(): MCPServerState {
    return this.connection.state;
  }

  /** What was taken from the server when it was last read, and what was left out. */
  get report(): SourceReport {
    return this.#report.report;
  }

  /** Tools of a pinned server that wait for approval. */
  get held(): HeldTool[] {
    return this.#pins.held(this.#listed);
  }

  /** Hash of each tool as the server has it now, for `pinned` in a later run. */
  get hashes(): Record<string, string> {
    return Object.fromEntries(Array.from(this.#listed, ([name, { hash }]) => [name, hash]));
  }

  /** The operations as they are known; {@link refresh} asks the server. */
  async load(): Promise<IOperationDefinition[]> {
    if (this.state.status === "closed") throw closed(this.name);
    return this.tools;
  }

  onChange(listener: (change: SourceChange) => void): Unsubscribe {
    return this.#changes.on(listener);
  }

  /** Reads the list of tools again and tells what changed. Rejects, changing nothing, when it cannot be read. */
  refresh(): Promise<void> {
    this.#isStale = true;
    this.#refreshing ??= this.#refreshUntilFresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /** Accepts tools of a pinned server as they are now, all or by name, and offers them again. */
  approve(...tools: string[]): void {
    for (const tool of tools.length > 0 ? tools : this.#listed.keys()) {
      const listed = this.#listed.get(tool);
      if (listed !== undefined) this.#pins.approve(tool, listed);
    }
    this.#offer();
  }

  async close(): Promise<void> {
    this.#stopListening();
    await this.connection.close();
    this.#waiting?.start(); // it fails now, and nothing waits for it any longer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** A change that is told while the list is read asks for another look, however often it is told. */
  async #refreshUntilFresh(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      await this.#read();
    }
  }

  async #read(): Promise<void> {
    const reading = new ReportBook();
    const tools = await this.connection.listTools();
    this.#listed = await readTools(tools, this.#host, this.#listed, reading);
    this.#reading = reading;
    this.#pins.approveFirst(this.#listed);
    const hasChanged = this.#offer();
    if (hasChanged || !this.#isLoaded) this.#report.deliver(this.name, this.#host.config);
    this.#isLoaded = true;
  }

  /** Reads the list again, at most once in {@link minReadInterval}, however often a server gives reason to. */
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
    this.#nextReadAt = performance.now() + minReadInterval;
    return this.refresh();
  }

  #refreshQuietly(): void {
    this.#refreshSoon().catch((error: unknown) => {
      if (this.state.status === "closed") return;
      log.warn("{server}: its tools could not be read again: {error}", { server: this.name, error });
    });
  }

  /** Offers what may be offered of what is listed, and tells whether that changed anything. */
  #offer(): boolean {
    const book = new ReportBook(this.#reading);
    const offered = new Map<string, MCPOperation>();
    for (const [name, listed] of this.#listed) {
      const operation = this.#pins.offer(name, listed);
      if (operation !== listed.operation) book.skipped(`tool "${name}"`, "it is not what was approved.");
      if (operation !== undefined) offered.set(formatOperationId(this.namespace, name), operation);
    }
    for (const operation of this.#extras) {
      const id = formatOperationId(this.namespace, operation.name);
      if (offered.has(id)) book.skipped(`operation "${operation.name}"`, "a tool has the same name.");
      else offered.set(id, operation);
    }
    for (const id of offered.keys()) book.imported(id);
    const change = compare(this.#offered, offered);
    this.#offered = offered;
    this.#report = book;
    const hasChanged = change.added.length + change.changed.length + change.removed.length > 0;
    if (hasChanged && this.#isLoaded) this.#changes.emit(change);
    return hasChanged;
  }

  async #hasTool(name: string): Promise<boolean> {
    try {
      await this.#refreshSoon();
      return this.#listed.has(name);
    } catch {
      return true; // no telling
    }
  }
}

function compare(before: ReadonlyMap<string, MCPOperation>, after: ReadonlyMap<string, MCPOperation>): SourceChange {
  const added: MCPOperation[] = [];
  const changed: MCPOperation[] = [];
  for (const [id, operation] of after) {
    const old = before.get(id);
    if (old === undefined) added.push(operation);
    else if (old !== operation) changed.push(operation);
  }
  return { added, changed, removed: [...before.keys()].filter((id) => !after.has(id)) };
}

function closed(name: string): CallError {
  return new CallError("UNAVAILABLE", `The MCP server "${name}" was closed.`, undefined, { mayHaveRun: false });
}
