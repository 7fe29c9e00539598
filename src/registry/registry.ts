import type { OperationSource, Unsubscribe } from "../from/source.ts";
import { inspectNames, setInspection } from "../internal/lookup.ts";
import { assertObject } from "../internal/objects.ts";
import { describeValue } from "../internal/text.ts";
import {
  type CallError,
  type CallOptions,
  type Client,
  formatOperationId,
  type IOperationDefinition,
  type KnownOperations,
  notAnId,
  type OperationHandler,
  type OperationSpec,
  type OperationsByNamespace,
  operationNotFound,
  type ResponseEnvelope,
  type SubscribeOptions,
  type SubscriptionHandler,
  unavailable,
} from "../operation/inside.ts";
import { Call } from "./call.ts";
import { createClient } from "./client.ts";
import { assertHandler, createEntry, malformed, RegistryCore } from "./core.ts";
import { Follower, type FollowHooks } from "./follow.ts";
import type { OperationEntry } from "./operation-entry.ts";
import { createSubscription } from "./subscription.ts";
import type {
  ChangeEvent,
  Following,
  FollowOptions,
  Middleware,
  OperationSelection,
  RegisteredOperation,
  RegistryCallEvent,
  RegistryEvents,
  RegistryOptions,
  SearchOptions,
  WaitForOptions,
} from "./types.ts";
import { waitForOperation } from "./wait-for-operation.ts";

/** The implementation of the interface `OperationRegistry`. */
export class Registry {
  readonly #core: RegistryCore;
  /** Aborts the loading of sources. */
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined = undefined;

  constructor(options: RegistryOptions = {}) {
    this.#core = new RegistryCore(options);
  }

  static {
    setInspection(Registry.prototype, (registry) =>
      // The prototype itself is not a registry.
      #core in registry ? inspectNames("OperationRegistry", registry.#core.operations.keys()) : "[OperationRegistry]",
    );
  }

  /** Returns the core of a registry, for the functions of this folder. */
  static coreOf(registry: unknown): RegistryCore {
    if (typeof registry === "object" && registry !== null && #core in registry) return registry.#core;
    throw new TypeError("This is not a registry. Create one with createRegistry() or new OperationRegistry().");
  }

  register(definition: IOperationDefinition): void {
    this.#core.offer(this.#createNew(definition));
  }

  registerAll(definitions: Iterable<RegisteredOperation>): void {
    const entries = new Map<string, OperationEntry>();
    if (!isList(definitions)) {
      throw new TypeError(`registerAll() takes a list of operations, not ${describeValue(definitions)}.`);
    }
    for (const definition of definitions) {
      const entry = this.#createNew(definition, false);
      if (entries.has(entry.id)) throw alreadyRegistered(entry.id);
      entries.set(entry.id, entry);
    }
    for (const entry of entries.values()) this.#core.offer(entry);
  }

  registerSpec(spec: OperationSpec): void {
    const entry = this.#createNew(spec, false);
    entry.handler = undefined; // A definition may be passed as a spec.
    this.#core.offer(entry);
  }

  registerHandler(id: string, handler: OperationHandler | SubscriptionHandler): void {
    if (typeof id !== "string") throw notAnId(id);
    const entry = this.#core.operations.get(id);
    if (entry === undefined) throw operationNotFound(id, this.#core.nearestId(id));
    if (entry.handler !== undefined) throw malformed(`"${id}" has a handler already. Use replace() to change it.`);
    assertHandler(id, handler, entry.spec.type);
    entry.handler = handler;
    entry.compiled = undefined;
    this.#core.offer(entry, entry);
  }

  unregister(id: string): boolean {
    const entry = this.#core.operations.get(id);
    if (entry !== undefined) this.#core.withdraw(entry);
    return entry !== undefined;
  }

  replace(definition: IOperationDefinition): void {
    const entry = createEntry(definition);
    const active = this.#core.operations.get(entry.id);
    this.#core.offer(entry, active?.owner === undefined ? active : undefined);
  }

  get(id: string): RegisteredOperation | undefined {
    return this.#core.operations.get(id)?.describe();
  }

  getByName(namespace: string, name: string): RegisteredOperation | undefined {
    return this.get(formatOperationId(namespace, name));
  }

  getSpec(id: string): OperationSpec | undefined {
    return this.#core.operations.get(id)?.spec;
  }

  getHandler(id: string): OperationHandler | SubscriptionHandler | undefined {
    return this.#core.operations.get(id)?.handler;
  }

  getAllSpecs(): OperationSpec[] {
    return Array.from(this.#core.operations.values(), (entry) => entry.spec);
  }

  list(): RegisteredOperation[] {
    return Array.from(this.#core.operations.values(), (entry) => entry.describe());
  }

  has(id: string): boolean {
    return this.#core.operations.get(id) !== undefined;
  }

  search(query: string, options: SearchOptions = {}): OperationSpec[] {
    return this.#core.search(query, options);
  }

  execute<T = unknown>(id: string, input?: unknown, options?: CallOptions): Promise<ResponseEnvelope<T>> {
    return Call.execute(this.#core, id, input, options) as Promise<ResponseEnvelope<T>>;
  }

  subscribe<T = unknown>(
    id: string,
    input?: unknown,
    options?: SubscribeOptions,
  ): AsyncIterableIterator<ResponseEnvelope<T>> & AsyncDisposable {
    return createSubscription(this.#core, id, input, options) as never;
  }

  use(middleware: Middleware, selection: OperationSelection = {}): Unsubscribe {
    return this.#core.use(middleware, selection);
  }

  on<Name extends keyof RegistryEvents>(event: Name, listener: (event: RegistryEvents[Name]) => void): Unsubscribe {
    if (typeof listener !== "function")
      throw new TypeError("on() takes a function, such as (event) => console.log(event).");
    switch (event) {
      case "call":
        return this.#core.calls.on(listener as (event: RegistryCallEvent) => void);
      case "change":
        return this.#core.changes.on(listener as (event: ChangeEvent) => void);
      default:
        throw new TypeError(`A registry has no event "${String(event)}". It has "call" and "change".`);
    }
  }

  follow(source: OperationSource, options: FollowOptions = {}): Promise<Following> {
    return this.#follow(source, options, {});
  }

  /** Follows a source with hooks, for a hub. */
  static follow(
    registry: unknown,
    source: OperationSource,
    options: FollowOptions,
    hooks: FollowHooks,
  ): Promise<Follower> {
    return (registry as Registry).#follow(source, options, hooks);
  }

  async #follow(source: OperationSource, options: FollowOptions, hooks: FollowHooks): Promise<Follower> {
    if (this.#core.isClosed) throw closed();
    if (typeof source?.load !== "function") {
      throw new TypeError("follow() takes a source, such as openAPISource(…), mcpSource(…) or moduleSource(…).");
    }
    assertObject("follow", options, 'follow(source, { include: ["task.*"] })');
    const isReported = this.#core.isLogging || options.onReport !== undefined;
    const followed = isReported ? options : { ...options, onReport: ignore };
    const follower = new Follower(this.#core, source, followed, hooks);
    await follower.start(this.#closing.signal);
    if (!this.#core.isClosed) return follower;
    await follower.close();
    throw closed();
  }

  waitFor(id: string, options: WaitForOptions = {}): Promise<void> {
    return waitForOperation(this.#core, id, options, this.#closing.signal);
  }

  client<K extends KnownOperations | OperationsByNamespace>(options: CallOptions = {}): Client<K> {
    assertObject("client", options, "registry.client({ identity })");
    return createClient(this.#core, options) as Client<K>;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#core.isClosed = true;
    this.#closing.abort(closed());
    const outcomes = await Promise.allSettled(Array.from(this.#core.followers, (one) => one.close()));
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #createNew(definition: RegisteredOperation, needsHandler = true): OperationEntry {
    const entry = createEntry(definition, { needsHandler });
    const active = this.#core.operations.get(entry.id);
    if (active !== undefined && active.owner === undefined) throw alreadyRegistered(entry.id);
    return entry;
  }
}

/** Returns whether a value is a list of operations, and not a string, which is iterable too. */
export function isList(value: unknown): boolean {
  return typeof value === "object" && value !== null && Symbol.iterator in value;
}

/** Replaces the log in a registry with `log: false`. */
function ignore(): void {}

function closed(): CallError {
  return unavailable("The registry is closed.", { mayHaveRun: false });
}

function alreadyRegistered(id: string): CallError {
  return malformed(`"${id}" is registered already. Use replace() to replace it.`);
}
