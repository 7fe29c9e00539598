import type { OperationSource, Unsubscribe } from "../from/source.ts";
import { nearest } from "../internal/nearest.ts";
import { assertObject } from "../internal/objects.ts";
import { describeValue } from "../internal/text.ts";
import {
  type CallArguments,
  type CallError,
  type CallOptions,
  type CallsOf,
  type Client,
  type DataOf,
  formatOperationId,
  type IOperationDefinition,
  type KnownOperations,
  notAnId,
  type OperationHandler,
  type OperationSpec,
  type OperationsByNamespace,
  operationNotFound,
  type ResponseEnvelope,
  type SubscribeArguments,
  type SubscribeOptions,
  type SubscriptionHandler,
  type SubscriptionsOf,
} from "../operation/inside.ts";
import { Call } from "./call.ts";
import { createClient } from "./client.ts";
import { RegistryCore } from "./core.ts";
import { assertHandler, createEntry, malformed, type OperationEntry } from "./operation-entry.ts";
import { Subscription } from "./subscription.ts";
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

const cores = new WeakMap<object, RegistryCore>();

/** Returns the core of a registry, which runs incoming calls. Throws a `TypeError` for a value that is not a registry. */
export function coreOf<Known extends KnownOperations>(registry: OperationRegistry<Known>): RegistryCore {
  const core = cores.get(registry);
  if (core !== undefined) return core;
  throw new TypeError("This is not a registry. Create one with createRegistry() or new OperationRegistry().");
}

/**
 * Stores operations and runs them. `Known` has their types: a registry created by `createRegistry` checks ids, inputs and
 * outputs at compile time; one created by `new OperationRegistry()` accepts any id and returns `unknown`. The first is
 * assignable to the second.
 */
class Registry<Known extends KnownOperations = KnownOperations> implements AsyncDisposable {
  /** Never set; carries the types of the operations. */
  declare readonly "~known"?: Known;
  readonly #core: RegistryCore;

  /** Throws `VALIDATION_ERROR` for an invalid option. */
  constructor(options: RegistryOptions = {}) {
    this.#core = new RegistryCore(options);
    cores.set(this, this.#core);
  }

  /**
   * Adds an operation. Throws when its spec is malformed or its id is taken. It comes before operations of followed
   * sources with the same id, which are registered again when this one is removed.
   */
  register(definition: IOperationDefinition): void {
    this.#core.offer(this.#createNew(definition));
  }

  /** Adds all operations, or none if one is invalid. Operations without a handler cannot run yet. */
  registerAll(definitions: Iterable<OperationSpec | IOperationDefinition>): void {
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

  /** Adds an operation that cannot run yet; `registerHandler` adds its handler. The handler of a definition is ignored. */
  registerSpec(spec: OperationSpec): void {
    const entry = this.#createNew(spec, false);
    entry.handler = undefined; // A definition may be passed as a spec.
    this.#core.offer(entry);
  }

  /** Sets the handler of the operation `id`. Throws when the operation does not exist or already has a handler. */
  registerHandler(id: string, handler: OperationHandler | SubscriptionHandler): void {
    if (typeof id !== "string") throw notAnId(id);
    const entry = this.#core.operations.get(id);
    if (entry === undefined) throw operationNotFound(id, nearest(id, this.#core.operations.keys()));
    if (entry.handler !== undefined) throw malformed(`"${id}" has a handler already. Use replace() to change it.`);
    assertHandler(id, handler, entry.spec.type);
    entry.handler = handler;
    entry.compiled = undefined;
    this.#core.offer(entry, entry);
  }

  /** Removes an operation; running calls continue. Returns whether it existed. */
  unregister(id: string): boolean {
    const entry = this.#core.operations.get(id);
    if (entry !== undefined) this.#core.withdraw(entry);
    return entry !== undefined;
  }

  /** Replaces the operation with the same id, or adds it. Running calls keep the old one. */
  replace(definition: IOperationDefinition): void {
    const entry = createEntry(definition);
    const active = this.#core.operations.get(entry.id);
    this.#core.offer(entry, active?.owner === undefined ? active : undefined);
  }

  /** Finds an operation by `namespace.name`. Also finds operations without a handler. */
  get(id: string): RegisteredOperation | undefined {
    return this.#core.operations.get(id)?.describe();
  }

  /** Finds an operation by namespace and name. */
  getByName(namespace: string, name: string): RegisteredOperation | undefined {
    return this.get(formatOperationId(namespace, name));
  }

  /** Finds the spec of an operation, without its handler. */
  getSpec(id: string): OperationSpec | undefined {
    return this.#core.operations.get(id)?.spec;
  }

  /** Finds the handler of an operation. Calling it skips access rules, validation and the envelope. */
  getHandler(id: string): OperationHandler | SubscriptionHandler | undefined {
    return this.#core.operations.get(id)?.handler;
  }

  /** Specs of all operations in the order they were added. */
  getAllSpecs(): OperationSpec[] {
    return Array.from(this.#core.operations.values(), (entry) => entry.spec);
  }

  /** All operations in the order they were added. */
  list(): RegisteredOperation[] {
    return Array.from(this.#core.operations.values(), (entry) => entry.describe());
  }

  /** Returns whether the operation `namespace.name` exists. */
  has(id: string): boolean {
    return this.#core.operations.has(id);
  }

  /**
   * Finds operations by words and returns their specs, best first. Any word may match, also as a prefix, in plural, or
   * by an English synonym such as `remove` for `delete`. Words in the name and title weigh more than words in namespace,
   * tags and description, and rare words more than common ones. Equal results are in the order they were added. An empty
   * query returns all operations in that order.
   */
  search(query: string, options: SearchOptions = {}): OperationSpec[] {
    return this.#core.search(query, options);
  }

  /**
   * Runs a query or mutation: checks access and input, runs the handler, wraps and normalises the result. Fails with
   * a `CallError`. The input is optional where `{}` is valid. For an untyped registry, `execute<T>(…)` sets the
   * type of the data.
   * @example
   * const { data } = await registry.execute("task.create", { title: "Ship it" }, { timeout: 5_000 });
   */
  execute<T = never, Id extends keyof CallsOf<Known> & string = keyof CallsOf<Known> & string>(
    id: Id,
    ...args: CallArguments<Known[Id]["input"]>
  ): Promise<ResponseEnvelope<DataOf<T, Known[Id]>>>;
  execute(id: string, input?: unknown, options?: CallOptions): Promise<ResponseEnvelope<never>> {
    return Call.execute(this.#core, id, input, options) as Promise<ResponseEnvelope<never>>;
  }

  /**
   * Subscribes to an operation and yields an envelope for each of its values. The handler starts with the first `next()`;
   * leaving the loop ends it. An abort or a deadline throws. The input is optional where `{}` is valid.
   * @example
   * for await (const { data } of registry.subscribe("task.changes")) console.log(data);
   */
  subscribe<T = never, Id extends keyof SubscriptionsOf<Known> & string = keyof SubscriptionsOf<Known> & string>(
    id: Id,
    ...args: SubscribeArguments<Known[Id]["input"]>
  ): AsyncIterableIterator<ResponseEnvelope<DataOf<T, Known[Id]>>> & AsyncDisposable;
  subscribe(id: string, input?: unknown, options?: SubscribeOptions): ReturnType<Registry["subscribe"]> {
    return new Subscription(this.#core, id, input, options).values as never;
  }

  /**
   * Adds middleware around the run step, outermost first: for all operations, or for those that `selection` selects,
   * including operations that are registered later. Returns a function that removes it; running calls keep it.
   */
  use(middleware: Middleware, selection: OperationSelection = {}): Unsubscribe {
    return this.#core.use(middleware, selection);
  }

  /** Listens to calls or changes. An error of a listener is logged and does not affect calls or other listeners. */
  on<Name extends keyof RegistryEvents>(event: Name, listener: (event: RegistryEvents[Name]) => void): Unsubscribe {
    if (typeof listener !== "function")
      throw new TypeError("on() takes a function, such as (event) => console.log(event).");
    const { calls, changes } = this.#core;
    if (event === "call") return calls.on(listener as (event: RegistryCallEvent) => void);
    if (event === "change") return changes.on(listener as (event: ChangeEvent) => void);
    throw new TypeError(`A registry has no event "${String(event)}". It has "call" and "change".`);
  }

  /**
   * Registers a source's operations and applies its changes until closed. An operation whose id is taken waits until the
   * one before it is removed: operations that the program registers come first, then those of sources in the order in
   * which they were offered. Operations keep the order of the source; a changed one keeps its position, and a new one is
   * last. Rejects when loading fails, and registers nothing.
   *
   * Peers, and servers with `trust: "operations"`, cannot use a namespace that another source has or has had. Their
   * operations are registered when the sources that are loading have ended their attempt, or after 10 s.
   * @example
   * await registry.follow(openAPISource("https://api.example.com/openapi.json", { namespace: "shop" }));
   */
  follow(source: OperationSource, options: FollowOptions = {}): Promise<Following> {
    return this.#core.follow(source, options);
  }

  /** Resolves when the operation `id` can be called. Fails with `TIMEOUT`, `ABORTED`, or `UNAVAILABLE` when the registry is closed. */
  waitFor(id: string, options: WaitForOptions = {}): Promise<void> {
    return waitForOperation(this.#core, id, options);
  }

  /**
   * Calls by name: `client.task.create(input)` returns the data. The options apply to every call.
   * @example
   * const task = await registry.client({ identity }).task.create({ title: "Ship it" });
   */
  client<K extends KnownOperations | OperationsByNamespace = Known>(options: CallOptions = {}): Client<K> {
    assertObject("client", options, "registry.client({ identity })");
    return createClient(this.#core, options) as Client<K>;
  }

  /**
   * Stops following sources, which removes their operations and closes them, and refuses new calls with
   * `UNAVAILABLE`; running calls continue. It can be called more than once.
   */
  close(): Promise<void> {
    return this.#core.close();
  }

  /** Closes the registry at the end of `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #createNew(definition: RegisteredOperation, needsHandler = true): OperationEntry {
    const entry = createEntry(definition, { needsHandler });
    const active = this.#core.operations.get(entry.id);
    if (active !== undefined && active.owner === undefined) throw alreadyRegistered(entry.id);
    return entry;
  }
}

/**
 * Stores operations and runs them. A registry created by `createRegistry` is typed with their ids, inputs and outputs, and
 * is assignable to an untyped registry.
 */
export interface OperationRegistry<Known extends KnownOperations = KnownOperations> extends Registry<Known> {}

/** Creates a registry without types of its operations. Use `createRegistry` for a typed one. */
// Not the class itself: TypeScript would infer `Known` from the variable that the new registry is assigned to.
export const OperationRegistry: new (options?: RegistryOptions) => OperationRegistry = Registry;

/** Returns whether a value is a list of operations, and not a string, which is iterable too. */
export function isList(value: unknown): boolean {
  return typeof value === "object" && value !== null && Symbol.iterator in value;
}

function alreadyRegistered(id: string): CallError {
  return malformed(`"${id}" is registered already. Use replace() to replace it.`);
}
