import { CallError, mapError } from "../../operation/index.ts";
import type { OperationSource } from "../source.ts";
import { createMCPClient, type MCPClientWrapper } from "./client.ts";
import type { MCPClientConfig } from "./config.ts";
import type { MCPServerState } from "./connection/index.ts";
import { toNamespace } from "./names.ts";
import { log } from "./report.ts";
import type { MCPOperation } from "./tool-operation.ts";
import { isObject } from "./values.ts";

/** What a loader asks of a registry. */
export interface FollowingRegistry {
  follow(source: OperationSource): Promise<{ close(): Promise<void> }>;
}

/** Holds the connections to many servers. */
export class MCPClientLoader implements AsyncDisposable {
  readonly #wrappers = new Map<string, MCPClientWrapper>();
  readonly #failures = new Map<string, CallError>();
  /** Namespaces that are taken, also by servers that are still being connected. */
  readonly #taken = new Map<string, string>();
  readonly #registries = new Set<FollowingRegistry>();
  /** Servers that are being connected. */
  readonly #opening = new Set<Promise<unknown>>();
  /** Stops servers that are being connected. */
  #closing = new AbortController();

  /**
   * Connects to all servers at a time and gives those that worked, in the order of the configuration. The others are
   * in {@link getStates} and in the log. Registries that follow this loader follow the new servers too.
   */
  async load(config: Record<string, MCPClientConfig>): Promise<MCPClientWrapper[]> {
    const opening = Object.entries(config).map(([name, one]) => this.#open(name, one));
    const wrappers = (await Promise.all(opening)).filter((wrapper) => wrapper !== undefined);
    await Promise.all([...this.#registries].map((registry) => this.#followLater(registry, wrappers)));
    return wrappers;
  }

  getClient(name: string): MCPClientWrapper | undefined {
    return this.#wrappers.get(name);
  }

  getAllWrappers(): MCPClientWrapper[] {
    return [...this.#wrappers.values()];
  }

  /** The operations of all servers as they are now. */
  getAllOperations(): MCPOperation[] {
    return this.getAllWrappers().flatMap(({ tools }) => tools);
  }

  /** How each server is, those that could not be connected included. */
  getStates(): Record<string, MCPServerState> {
    const connected = this.getAllWrappers().map(({ name, state }) => [name, state] as const);
    const failed = Array.from(this.#failures, ([name, error]) => [name, toFailedState(error)] as const);
    return Object.fromEntries([...connected, ...failed]);
  }

  /**
   * Registers the operations of all servers, those that are loaded later too, and applies what servers add, change and
   * remove. Closing the registry closes the servers.
   */
  async registerAll(registry: FollowingRegistry): Promise<void> {
    this.#registries.add(registry);
    await Promise.all(this.getAllWrappers().map((wrapper) => registry.follow(wrapper)));
  }

  /** Accepts a tool of a pinned server as it is now; all of them when none is named. */
  approve(name: string, ...tools: string[]): void {
    const wrapper = this.#wrappers.get(name);
    if (wrapper === undefined) throw refused(`There is no MCP server "${name}".`);
    wrapper.approve(...tools);
  }

  /** Closes all servers, also those that are still being connected. Resolves when no process is left. */
  async closeAll(): Promise<void> {
    this.#closing.abort();
    this.#closing = new AbortController();
    const wrappers = this.getAllWrappers();
    this.#wrappers.clear();
    this.#failures.clear();
    this.#registries.clear();
    const opening = [...this.#opening];
    const outcomes = await Promise.allSettled([...wrappers.map((wrapper) => wrapper.close()), ...opening]);
    for (const { namespace } of wrappers) this.#taken.delete(namespace);
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closeAll();
  }

  /** A registry that was closed meanwhile takes nothing more, and must not keep servers from being loaded. */
  async #followLater(registry: FollowingRegistry, wrappers: readonly MCPClientWrapper[]): Promise<void> {
    try {
      await Promise.all(wrappers.map((wrapper) => registry.follow(wrapper)));
    } catch (error) {
      this.#registries.delete(registry);
      log.error("New MCP servers could not be registered: {error}", { error });
    }
  }

  #open(name: string, config: MCPClientConfig): Promise<MCPClientWrapper | undefined> {
    const opening = this.#tryOpen(name, config).finally(() => this.#opening.delete(opening));
    this.#opening.add(opening);
    return opening;
  }

  async #tryOpen(name: string, config: MCPClientConfig): Promise<MCPClientWrapper | undefined> {
    const { signal } = this.#closing;
    const namespace = toNamespace(name);
    const holder = this.#holderOf(namespace);
    if (holder !== undefined) {
      const error = refused(`The namespace "${namespace}" of the MCP server "${name}" is taken by "${holder}".`);
      return this.#fail(name, error, signal);
    }
    this.#taken.set(namespace, name);
    this.#failures.delete(name);
    try {
      const wrapper = await createMCPClient(name, config, { signal });
      if (signal.aborted) {
        await wrapper.close();
        return undefined;
      }
      this.#wrappers.set(name, wrapper);
      return wrapper;
    } catch (error) {
      this.#taken.delete(namespace);
      return this.#fail(name, mapError(error), signal);
    }
  }

  /** Who has a namespace. A server that was closed has it no longer. */
  #holderOf(namespace: string): string | undefined {
    const name = this.#taken.get(namespace);
    if (name === undefined || this.#wrappers.get(name)?.state.status !== "closed") return name;
    this.#wrappers.delete(name);
    this.#taken.delete(namespace);
    return undefined;
  }

  #fail(name: string, error: CallError, signal: AbortSignal): undefined {
    if (signal.aborted) return undefined;
    log.error("{server}: it could not be connected: {error}", { server: name, error });
    if (!this.#wrappers.has(name)) this.#failures.set(name, error);
    return undefined;
  }
}

function toFailedState(error: CallError): MCPServerState {
  const lines = isObject(error.details) ? error.details["stderr"] : undefined;
  return { status: "failed", error, stderr: Array.isArray(lines) ? lines : [], restarts: 0 };
}

function refused(message: string): CallError {
  return new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
}
