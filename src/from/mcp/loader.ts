import { logger } from "../../internal/log.ts";
import { isObject } from "../../internal/objects.ts";
import { CallError, mapError, toNamespace } from "../../operation/inside.ts";
import type { OperationSource } from "../source.ts";
import { createMCPClient, type MCPClientWrapper } from "./client.ts";
import type { MCPClientConfig } from "./config.ts";
import type { MCPServerState } from "./connection/index.ts";
import type { MCPOperation } from "./tool-operation.ts";

const log = logger("from", "mcp");

/** The part of a registry that a loader needs. */
export interface SourceFollower {
  /** Registers the operations of a source, and applies its changes until it is closed. */
  follow(source: OperationSource): Promise<{ close(): Promise<void> }>;
}

/** Connects to several servers and keeps their connections. */
export class MCPClientLoader implements AsyncDisposable {
  readonly #wrappers = new Map<string, MCPClientWrapper>();
  readonly #failures = new Map<string, CallError>();
  /** Server name by namespace, including servers that are still connecting. */
  readonly #namespaces = new Map<string, string>();
  readonly #registries = new Set<SourceFollower>();
  /** Running connection attempts. */
  readonly #opening = new Set<Promise<unknown>>();
  /** Aborts the running connection attempts. */
  #closing = new AbortController();

  /**
   * Connects to all servers at the same time. Returns the connected servers, in the order of the configuration. {@link
   * getStates} and the log report the failures. Registries that were passed to {@link registerAll} follow the new
   * servers too.
   */
  async load(config: Record<string, MCPClientConfig>): Promise<MCPClientWrapper[]> {
    const opening = Object.entries(config).map(([name, one]) => this.#open(name, one));
    const wrappers = (await Promise.all(opening)).filter((wrapper) => wrapper !== undefined);
    await Promise.all([...this.#registries].map((registry) => this.#followLater(registry, wrappers)));
    return wrappers;
  }

  /** Returns a connected server by its name in the configuration. */
  getClient(name: string): MCPClientWrapper | undefined {
    return this.#wrappers.get(name);
  }

  /** Returns all connected servers, in the order of the configuration. */
  getAllWrappers(): MCPClientWrapper[] {
    return [...this.#namespaces.values()].flatMap((name) => this.#wrappers.get(name) ?? []);
  }

  /** Returns the current operations of all servers. */
  getAllOperations(): MCPOperation[] {
    return this.getAllWrappers().flatMap(({ tools }) => tools);
  }

  /** Returns the state of each server by name, including servers that could not be connected. */
  getStates(): Record<string, MCPServerState> {
    const connected = this.getAllWrappers().map(({ name, state }) => [name, state] as const);
    const failed = Array.from(this.#failures, ([name, error]) => [name, toFailedState(error)] as const);
    return Object.fromEntries([...connected, ...failed]);
  }

  /**
   * Registers the operations of all servers, including servers that are loaded later, and applies their changes.
   * Closing the registry closes the servers.
   */
  async registerAll(registry: SourceFollower): Promise<void> {
    this.#registries.add(registry);
    await Promise.all(this.getAllWrappers().map((wrapper) => registry.follow(wrapper)));
  }

  /** Closes all servers, including servers that are still connecting. Resolves when no process is left. */
  async closeAll(): Promise<void> {
    this.#closing.abort();
    this.#closing = new AbortController();
    const wrappers = this.getAllWrappers();
    this.#wrappers.clear();
    this.#failures.clear();
    this.#registries.clear();
    const opening = [...this.#opening];
    const outcomes = await Promise.allSettled([...wrappers.map((wrapper) => wrapper.close()), ...opening]);
    for (const { namespace } of wrappers) this.#namespaces.delete(namespace);
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  }

  /** The same as {@link closeAll}. */
  close(): Promise<void> {
    return this.closeAll();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.closeAll();
  }

  /** Registers new servers. A registry that was closed in the meantime must not fail the load. */
  async #followLater(registry: SourceFollower, wrappers: readonly MCPClientWrapper[]): Promise<void> {
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
    const user = this.#userOf(namespace);
    if (user !== undefined) {
      const error = invalid(
        `The namespace "${namespace}" of the MCP server "${name}" is already used by "${user}". Rename one of them.`,
      );
      return this.#fail(name, error, signal);
    }
    this.#namespaces.set(namespace, name);
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
      this.#namespaces.delete(namespace);
      return this.#fail(name, mapError(error), signal);
    }
  }

  /** Returns the server that uses a namespace. Closed servers are ignored. */
  #userOf(namespace: string): string | undefined {
    const name = this.#namespaces.get(namespace);
    if (name === undefined || this.#wrappers.get(name)?.state.status !== "closed") return name;
    this.#wrappers.delete(name);
    this.#namespaces.delete(namespace);
    return undefined;
  }

  #fail(name: string, error: CallError, signal: AbortSignal): undefined {
    if (signal.aborted) return undefined;
    log.error("The MCP server {server} could not be connected: {error}", { server: name, error });
    if (!this.#wrappers.has(name)) this.#failures.set(name, error);
    return undefined;
  }
}

function toFailedState(error: CallError): MCPServerState {
  const lines = isObject(error.details) ? error.details["stderr"] : undefined;
  return { status: "failed", error, stderr: Array.isArray(lines) ? lines : [], restarts: 0 };
}

function invalid(message: string): CallError {
  return new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
}
