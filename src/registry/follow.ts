import { ReportBuilder } from "../from/report.ts";
import type { OperationSource, SourceChange, SourceReport, Unsubscribe } from "../from/source.ts";
import { BoundedMap } from "../internal/bounded.ts";
import { notify } from "../internal/emitter.ts";
import { logger } from "../internal/log.ts";
import { quote } from "../internal/text.ts";
import {
  formatOperationId,
  type IOperationDefinition,
  mapError,
  type OperationSpec,
  unavailable,
} from "../operation/index.ts";
import { toCallerView } from "../schema/index.ts";
import type { RegistryCore } from "./core.ts";
import { type AdapterHooks, SourceAdapter } from "./follow-options.ts";
import type { ChangeEvent, Following, FollowOptions, OperationRegistry } from "./types.ts";

const log = logger("registry");

type Target = Pick<
  OperationRegistry,
  "get" | "getHandler" | "has" | "on" | "register" | "registerHandler" | "registerSpec" | "replace" | "unregister"
>;

/** What a hub adds to the options of `follow()`. */
export interface FollowHooks extends AdapterHooks {
  /** Cancels loading. @default loading is cancelled when the registry is closed */
  readonly signal?: AbortSignal;
  /** Called when the operations have been removed, before the source is closed. */
  onRemoved?(operationIds: readonly string[]): Promise<void>;
}

/**
 * Registers the operations of a source and applies its changes. It replaces and removes only operations of the source. An
 * operation whose id is taken is registered when the id is free. An invalid operation does not affect the others.
 */
export class Follower implements Following {
  readonly #target: Target;
  readonly #core: RegistryCore;
  /** All followers of the registry. A closed one is removed. */
  readonly #followers: Set<Follower>;
  readonly #source: OperationSource;
  readonly #adapter: SourceAdapter;
  readonly #onReport: FollowOptions["onReport"];
  readonly #hooks: FollowHooks;
  /** The operations of the source, also those that are not registered, by id in the source. */
  readonly #definitions = new Map<string, IOperationDefinition>();
  /** Id in the registry by id in the source. */
  readonly #ids = new Map<string, string>();
  /** The reverse of {@link #ids}. */
  readonly #sourceIds = new Map<string, string>();
  /** Ids in the source of removed operations, if they differ from the registered ids: a lost peer may return. */
  readonly #formerIds = new BoundedMap<string, string>(1_000);
  /** The registered operations of the source, by id. */
  readonly #own = new Map<string, IOperationDefinition>();
  /** Ids of operations that only added their handler to a registered spec without one. */
  readonly #lent = new Set<string>();
  /** Operations that are not registered because their id is taken. */
  readonly #waiting = new Map<string, IOperationDefinition>();
  /** Operations that are not registered because another operation of the source has their id, by id in the source. */
  readonly #displaced = new Map<string, { id: string; definition: IOperationDefinition }>();
  readonly #early: SourceChange[] = [];
  readonly #stops: Array<Unsubscribe | undefined> = [];
  #state: "loading" | "following" | "closed" = "loading";
  #closing: Promise<void> | undefined = undefined;
  /** Everything since the last report. */
  #report = new ReportBuilder();
  #lastReport: SourceReport | undefined = undefined;
  #isReportDue = false;

  constructor(
    target: Target,
    core: RegistryCore,
    followers: Set<Follower>,
    source: OperationSource,
    options: FollowOptions,
    hooks: FollowHooks,
  ) {
    this.#target = target;
    this.#core = core;
    this.#followers = followers;
    this.#source = source;
    this.#adapter = new SourceAdapter(source, options, hooks);
    this.#onReport = options.onReport;
    this.#hooks = hooks;
    followers.add(this);
  }

  /** The registered operations of the source, by id. */
  get operations(): ReadonlyMap<string, IOperationDefinition> {
    return this.#own;
  }

  /** Applies the hooks to all operations again, because their results have changed. */
  refresh(): void {
    this.#apply({ added: [], changed: [...this.#definitions.values()], removed: [] });
  }

  /** Returns whether the operation with this id is from a source that yields to this one. */
  #isYielded(id: string): boolean {
    if (this.#source.yields === true) return false;
    return [...this.#followers].some((other) => other.#source.yields && other.#own.has(id) && !other.#lent.has(id));
  }

  /** Returns whether the source may soon provide an operation that it does not have now. */
  mayHave(id: string): boolean {
    return this.#source.isIncomplete?.(this.#formerIds.get(id) ?? id) ?? false;
  }

  /** Loads the source. `closing` fires when the registry is closed. */
  async start(closing: AbortSignal): Promise<void> {
    const { signal = closing } = this.#hooks;
    // Listen before loading, so that no change is lost.
    this.#stops.push(
      this.#source.onChange?.((change) => {
        if (this.#state === "loading") this.#early.push(change);
        else if (this.#state === "following") this.#apply(change);
      }),
    );
    try {
      signal.throwIfAborted();
      const definitions = await this.#source.load(this.#loadOptions(signal));
      if (this.#state === "closed") return;
      this.#stops.push(this.#target.on("change", (event) => this.#onChange(event)));
      for (const definition of definitions) this.#add(definition);
      this.#adapter.reportUnused(this.#definitions, this.#ids.size > 0, this.#report);
    } catch (error) {
      for (const stop of this.#stops) stop?.();
      this.#followers.delete(this);
      if (signal.aborted) await this.close(); // Loading is not retried.
      throw error;
    }
    this.#state = "following";
    for (const change of this.#early.splice(0)) this.#apply(change);
    this.#deliverReport();
  }

  readonly close = (): Promise<void> => {
    this.#closing ??= this.#close();
    return this.#closing;
  };

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const ids = [...this.#own.keys()];
    this.#state = "closed";
    this.#followers.delete(this);
    for (const stop of this.#stops) stop?.();
    this.#waiting.clear();
    this.#displaced.clear();
    for (const id of ids) this.#remove(id);
    this.#core.endSubscriptions(ids, unavailable("The source of the operation was closed.", { mayHaveRun: true }));
    await this.#hooks.onRemoved?.(ids);
    await this.#source.close();
  }

  #loadOptions(signal: AbortSignal): Parameters<OperationSource["load"]>[0] {
    if (this.#onReport === undefined) return { signal }; // The source logs skipped operations itself.
    return {
      signal,
      onReport: (report) => {
        this.#report.include(report);
        this.#reportSoon();
      },
    };
  }

  #apply({ added, changed, removed }: SourceChange): void {
    for (const sourceId of removed) {
      this.#definitions.delete(sourceId);
      this.#forget(sourceId);
    }
    for (const definition of [...changed, ...added]) this.#add(definition);
    for (const { id, definition } of [...this.#displaced.values()]) {
      if (!this.#sourceIds.has(id)) this.#add(definition);
    }
    this.#reportSoon();
  }

  #add(definition: IOperationDefinition): void {
    let sourceId = "(not an operation)";
    try {
      sourceId = formatOperationId(definition.namespace, definition.name);
      this.#definitions.set(sourceId, definition);
      const adapted = this.#adapter.adapt(sourceId, definition);
      if (adapted?.id !== this.#ids.get(sourceId)) this.#forget(sourceId);
      if (adapted === undefined) {
        return this.#report.skipped(sourceId, "The configuration excludes it.", { requested: true });
      }
      const { id } = adapted;
      const user = this.#sourceIds.get(id) ?? sourceId;
      if (user !== sourceId) {
        this.#displaced.set(sourceId, { id, definition });
        return this.#report.skipped(sourceId, `${quote(user)} has the same id ${quote(id)} in the registry.`);
      }
      this.#displaced.delete(sourceId);
      this.#ids.set(sourceId, id);
      this.#sourceIds.set(id, sourceId);
      this.#put(id, adapted.definition);
    } catch (error) {
      this.#report.skipped(sourceId, mapError(error).message);
    }
  }

  /** Removes an operation that the source removed, or that has another id now. */
  #forget(sourceId: string): void {
    const id = this.#ids.get(sourceId);
    this.#displaced.delete(sourceId);
    if (id === undefined) return;
    this.#ids.delete(sourceId);
    this.#sourceIds.delete(id);
    if (id !== sourceId) this.#formerIds.set(id, sourceId);
    this.#remove(id);
  }

  #put(id: string, definition: IOperationDefinition): void {
    if (this.#lent.has(id)) this.#remove(id);
    if (this.#own.has(id)) this.#claim(id, definition, () => this.#target.replace(definition));
    else this.#place(id, definition);
  }

  #place(id: string, definition: IOperationDefinition): void {
    const known = this.#target.get(id);
    this.#waiting.delete(id);
    if (known === undefined || this.#isYielded(id))
      return this.#claim(id, definition, () => this.#target.register(definition));
    const isEqual = hasSameSchemas(known, definition);
    if (known.handler === undefined && isEqual) {
      this.#lent.add(id);
      return this.#claim(id, definition, () => this.#target.registerHandler(id, definition.handler));
    }
    this.#waiting.set(id, definition);
    // Equal operations are common, for example when several peers announce the same ones to a hub.
    if (isEqual) log.debug("{id} of {source} is registered when its id is free.", { id, source: this.#source.name });
    else this.#report.skipped(id, "An operation with the same id and a different schema is already registered.");
  }

  /** Records the operation before it is registered, because change listeners may react immediately. */
  #claim(id: string, definition: IOperationDefinition, register: () => void): void {
    const before = this.#own.get(id);
    this.#own.set(id, definition);
    try {
      register();
    } catch (error) {
      if (before === undefined) this.#own.delete(id);
      else this.#own.set(id, before);
      throw error;
    }
    this.#report.imported(id);
  }

  #remove(id: string): void {
    this.#waiting.delete(id);
    const isLent = this.#lent.delete(id);
    if (!this.#own.delete(id)) return;
    const known = this.#target.get(id);
    this.#target.unregister(id);
    if (!isLent || known === undefined) return;
    const { handler: _handler, ...spec } = known;
    this.#target.registerSpec(spec);
  }

  /** Reacts to changes of the registry. Changes that this follower made are recognised by the recorded handler. */
  #onChange({ kind, operationId: id }: ChangeEvent): void {
    const own = this.#own.get(id);
    if (own === undefined) {
      const waiting = this.#waiting.get(id);
      if (kind === "removed" && waiting !== undefined && !this.#target.has(id)) this.#retry(id, waiting);
      return;
    }
    if (this.#target.getHandler(id) === own.handler) return;
    this.#own.delete(id);
    this.#lent.delete(id);
    // A removed operation stays removed until the source changes it. A replaced one waits for its id.
    if (kind !== "removed") this.#retry(id, own);
  }

  #retry(id: string, definition: IOperationDefinition): void {
    try {
      this.#put(id, definition);
    } catch (error) {
      this.#report.skipped(id, mapError(error).message);
    }
    this.#reportSoon();
  }

  /** Schedules a report. A source may report before or after it emits a change, so both are combined in one report. */
  #reportSoon(): void {
    if (this.#isReportDue || this.#state !== "following") return;
    this.#isReportDue = true;
    queueMicrotask(() => {
      if (this.#isReportDue) this.#deliverReport();
    });
  }

  #deliverReport(): void {
    const report = this.#report;
    this.#isReportDue = false;
    this.#report = new ReportBuilder();
    const { name: source } = this.#source;
    const receiver = { source, onReport: this.#onReport, log, previous: this.#lastReport };
    this.#lastReport = report.report;
    notify(
      () => report.deliver(receiver),
      (error) => log.error("onReport of {source} failed: {error}", { source, error }),
    );
  }
}

/**
 * Returns whether two specs have the same type, input and output, so that one can replace the other. A peer announces the
 * caller's view of its input.
 */
function hasSameSchemas(one: OperationSpec, other: OperationSpec): boolean {
  const shape = ({ type, inputSchema, outputSchema }: OperationSpec) =>
    JSON.stringify([type, toCallerView(inputSchema), outputSchema]);
  try {
    return shape(one) === shape(other);
  } catch {
    return false; // A lazy schema could not be created.
  }
}
