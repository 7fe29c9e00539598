import type { OperationSource, Unsubscribe } from "../from/source.ts";
import { Emitter } from "../internal/emitter.ts";
import { extendPointer } from "../internal/json-pointer.ts";
import { createWarnOnce, logger, type WarnOnce } from "../internal/log.ts";
import { assertObject, isJSONObject } from "../internal/objects.ts";
import { describeValue } from "../internal/text.ts";
import {
  type CallError,
  handlerMissing,
  type Limits,
  type OperationSpec,
  type OutputPolicy,
  resolveDuration,
  resolveLimits,
  unavailable,
  type ValueProblem,
  validationError,
} from "../operation/inside.ts";
import { CompiledOperation } from "./compiled-operation.ts";
import { Follower, type FollowHooks } from "./follow.ts";
import type { OperationEntry } from "./operation-entry.ts";
import { Ownership } from "./ownership.ts";
import { reportListener } from "./reports.ts";
import { SearchIndex } from "./search-index.ts";
import { createSelector, type Selector } from "./selection.ts";
import type { Subscription } from "./subscription.ts";
import type {
  ChangeEvent,
  CustomAuth,
  FollowOptions,
  Middleware,
  OperationSelection,
  RegistryCallEvent,
  RegistryOptions,
  SearchOptions,
} from "./types.ts";

/** One call of `use()`. The same middleware may be added twice, and each can be removed separately. */
interface InstalledMiddleware {
  readonly middleware: Middleware;
  readonly selects: Selector;
}

/** The part of a registry that calls use: operations, middleware, listeners and limits. */
export class RegistryCore {
  readonly limits: Required<Limits>;
  /** The output policy of specs without one. */
  readonly outputPolicy: OutputPolicy;
  /** Logs a warning about an operation, if `isLogging`. */
  readonly warn: WarnOnce;
  /** Whether warnings about operations and sources are logged. */
  readonly isLogging: boolean;
  /** Timeout of direct calls without a timeout or deadline, in ms. */
  readonly defaultTimeout: number | undefined;
  readonly calls = new Emitter<RegistryCallEvent>((error) => reportListener("call", error));
  readonly changes = new Emitter<ChangeEvent>((error) => reportListener("change", error));
  /** Subscriptions whose handler was called. */
  readonly subscriptions = new Set<Subscription>();
  /** Sources that are followed, until they are closed. */
  readonly followers = new Set<Follower>();
  /** Which ids belong to this process. */
  readonly ownership = new Ownership(() => {
    for (const follower of this.followers) follower.withdrawRefused();
  });
  /** The active operation by id: the first of its candidates. Only `offer` and `withdraw` change it. */
  readonly operations = new Map<string, OperationEntry>();
  /** The other candidates, in order. Only for ids that have several. */
  readonly #waiting = new Map<string, OperationEntry[]>();
  /** Created when it is read, and again after operations have changed. */
  #namespaces: ReadonlyMap<string, ReadonlyMap<string, OperationEntry>> | undefined = undefined;
  /** Created by the first search, and kept up to date from then on. */
  #searchIndex: SearchIndex | undefined = undefined;
  /** In the order of `use()`. */
  #middleware: readonly InstalledMiddleware[] = [];
  isClosed = false;
  readonly #closing = new AbortController();
  /** Fires when the registry is closed, with the error as its reason. */
  readonly closing = this.#closing.signal;
  #closed: Promise<void> | undefined = undefined;
  /** The functions that access rules name. */
  readonly customAuth: Readonly<Record<string, CustomAuth>>;

  constructor(options: RegistryOptions) {
    assertObject("OperationRegistry", options, "new OperationRegistry({ defaultTimeout: 5_000 })");
    const { customAuth = {}, outputPolicy = "cast", limits, defaultTimeout, log = true } = options;
    const problems: ValueProblem[] = [];
    const require = (isValid: boolean, path: string, message: string) => {
      if (!isValid) problems.push({ path, message });
    };
    require(["cast", "check", "strict"].includes(outputPolicy), "/outputPolicy", 'must be "cast", "check" or "strict"');
    require(typeof log === "boolean", "/log", "must be true or false");
    require(isJSONObject(customAuth), "/customAuth", "must be an object of functions");
    for (const [name, decide] of problems.length > 0 ? [] : Object.entries(customAuth)) {
      const path = extendPointer("/customAuth", name);
      require(typeof decide === "function", path, "must be a function that returns true or false");
    }
    if (problems.length > 0) throw validationError("options", problems);
    this.customAuth = customAuth;
    this.outputPolicy = outputPolicy;
    this.limits = resolveLimits(limits);
    this.isLogging = log;
    this.warn = log ? createWarnOnce(logger("registry")) : () => {};
    this.defaultTimeout = resolveDuration("defaultTimeout", defaultTimeout, undefined);
  }

  *specs(): Iterable<OperationSpec> {
    for (const { spec } of this.operations.values()) yield spec;
  }

  /** Returns the specs that peers receive, with the caller's view of their inputs and without `_meta`. */
  publishedSpecs(): OperationSpec[] {
    return Array.from(this.operations.values(), (entry) => entry.published);
  }

  /** The operations by namespace and name. */
  get namespaces(): ReadonlyMap<string, ReadonlyMap<string, OperationEntry>> {
    this.#namespaces ??= groupByNamespace(this.operations.values());
    return this.#namespaces;
  }

  search(query: string, options: SearchOptions): OperationSpec[] {
    if (typeof query !== "string") throw new TypeError(`search() takes a string, not ${describeValue(query)}.`);
    assertObject("search", options, 'search("create", { limit: 10 })');
    this.#searchIndex ??= new SearchIndex(this.operations);
    return this.#searchIndex.search(query, options);
  }

  /**
   * Adds a candidate for an id, or replaces `before`, a candidate for the same id. The first candidate is active: that of
   * the program, then those of sources in the order in which they were offered.
   */
  offer(entry: OperationEntry, before?: OperationEntry): void {
    const { id } = entry;
    this.ownership.noteOffered(entry, before);
    const active = this.operations.get(id);
    if (active === undefined) return this.#activate(entry);
    const candidates = [active, ...(this.#waiting.get(id) ?? [])];
    const known = before === undefined ? -1 : candidates.indexOf(before);
    if (known >= 0) candidates[known] = entry;
    else if (entry.owner === undefined) candidates.unshift(entry);
    else candidates.push(entry);
    const [first = entry, ...others] = candidates;
    this.#setWaiting(id, others);
    if (first === entry) this.#activate(entry);
    const second = first === entry ? active : entry;
    if (active !== before) second.owner?.onWaiting(second, first);
  }

  /** Removes a candidate. The next one of its id becomes active. Does nothing if it was removed before. */
  withdraw(entry: OperationEntry): void {
    const { id } = entry;
    if (entry.owner === undefined) this.ownership.noteRemoved(id);
    const waiting = this.#waiting.get(id) ?? [];
    if (this.operations.get(id) !== entry) {
      return this.#setWaiting(
        id,
        waiting.filter((other) => other !== entry),
      );
    }
    const [next, ...others] = waiting;
    this.#setWaiting(id, others);
    if (next === undefined) this.#remove(entry);
    else this.#activate(next);
  }

  #setWaiting(id: string, candidates: OperationEntry[]): void {
    if (candidates.length > 0) this.#waiting.set(id, candidates);
    else this.#waiting.delete(id);
  }

  #activate(entry: OperationEntry): void {
    const { hasListeners } = this.changes;
    const before = this.operations.get(entry.id);
    const kind = before === undefined ? "added" : "changed";
    entry.home = this;
    this.operations.set(entry.id, entry);
    this.#namespaces = undefined;
    if (before !== undefined) this.#searchIndex?.remove(before);
    this.#searchIndex?.add(entry);
    if (hasListeners) this.changes.emit({ kind, operationId: entry.id, spec: entry.spec });
  }

  #remove(entry: OperationEntry): void {
    const { id, spec } = entry;
    this.operations.delete(id);
    this.#namespaces = undefined;
    this.#searchIndex?.remove(entry);
    this.changes.emit({ kind: "removed", operationId: id, spec });
  }

  /** Returns whether a followed source may soon provide an operation that is missing now. */
  mayAppear(id: string): boolean {
    for (const follower of this.followers) if (follower.mayHave(id)) return true;
    return false;
  }

  /** Compiles the schemas and handler of an operation. Throws a `CallError` when it cannot be called. */
  compile(entry: OperationEntry): CompiledOperation {
    const { handler, id } = entry;
    if (handler === undefined) throw handlerMissing(id);
    entry.compiled = new CompiledOperation(entry, handler, entry.spec.outputPolicy ?? this.outputPolicy);
    entry.compiled.setMiddleware(this.#middlewareOf(entry));
    return entry.compiled;
  }

  use(middleware: Middleware, selection: OperationSelection): Unsubscribe {
    if (typeof middleware !== "function")
      throw new TypeError("use() requires a function, such as (call, next) => next().");
    const installed: InstalledMiddleware = { middleware, selects: createSelector(selection) };
    this.#setMiddleware([...this.#middleware, installed]);
    return () => this.#setMiddleware(this.#middleware.filter((other) => other !== installed));
  }

  #setMiddleware(installed: readonly InstalledMiddleware[]): void {
    this.#middleware = installed;
    for (const entry of this.operations.values()) {
      if (entry.compiled !== undefined) entry.compiled.setMiddleware(this.#middlewareOf(entry));
    }
  }

  #middlewareOf(entry: OperationEntry): readonly Middleware[] {
    return this.#middleware.filter(({ selects }) => selects(entry)).map(({ middleware }) => middleware);
  }

  /** Ends the subscriptions of some operations. */
  endSubscriptions(operationIds: readonly string[], error: CallError): void {
    const ids = new Set(operationIds);
    for (const subscription of this.subscriptions) if (ids.has(subscription.operationId)) subscription.endWith(error);
  }

  /** Follows a source. With hooks, for a hub. Rejects when loading fails, or when the registry is closed. */
  async follow(source: OperationSource, options: FollowOptions, hooks: FollowHooks = {}): Promise<Follower> {
    if (this.isClosed) throw closed();
    if (typeof source?.load !== "function") {
      throw new TypeError("follow() takes a source, such as openAPISource(…), mcpSource(…) or moduleSource(…).");
    }
    assertObject("follow", options, 'follow(source, { include: ["task.*"] })');
    const isReported = this.isLogging || options.onReport !== undefined;
    const followed = isReported ? options : { ...options, onReport: () => {} };
    const follower = new Follower(this, source, followed, hooks);
    const starting = follower.start(this.closing);
    if (!follower.isForeign) this.ownership.holdPeers(starting);
    await starting;
    if (!this.isClosed) return follower;
    await follower.close();
    throw closed();
  }

  /** Refuses new calls, and closes the sources. Running calls continue. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.isClosed = true;
    this.#closing.abort(closed());
    const outcomes = await Promise.allSettled(Array.from(this.followers, (one) => one.close()));
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  }
}

function closed(): CallError {
  return unavailable("The registry is closed.", { mayHaveRun: false });
}

function groupByNamespace(entries: Iterable<OperationEntry>): Map<string, Map<string, OperationEntry>> {
  const namespaces = new Map<string, Map<string, OperationEntry>>();
  for (const entry of entries) {
    const { namespace, name } = entry.spec;
    const names = namespaces.get(namespace);
    if (names === undefined) namespaces.set(namespace, new Map([[name, entry]]));
    else names.set(name, entry);
  }
  return namespaces;
}
