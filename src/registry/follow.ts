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
} from "../operation/inside.ts";
import { toCallerView } from "../schema/index.ts";
import type { RegistryCore } from "./core.ts";
import { type AdapterHooks, SourceAdapter } from "./follow-options.ts";
import { createEntry, type OperationEntry, type OperationOwner } from "./operation-entry.ts";
import type { Following, FollowOptions } from "./types.ts";

const log = logger("registry");

const withheldReason =
  'Operations that were registered earlier cannot call those of this source until every source has loaded, because one that has never loaded may own their ids. Set "namespace" to allow these calls.';

/** What a hub adds to the options of `follow()`. */
export interface FollowHooks extends AdapterHooks {
  /** Cancels loading. @default loading is cancelled when the registry is closed */
  readonly signal?: AbortSignal;
  /** Receives every report as well, which is logged or passed to `onReport` as before. */
  onReport?(report: SourceReport): void;
  /** Called when the operations have been removed, before the source is closed. */
  onRemoved?(operationIds: readonly string[]): Promise<void>;
}

/** An operation of a source as the source defines it, and the candidate that the registry was offered for it. */
interface FollowedOperation {
  definition: IOperationDefinition;
  /** Absent if the operation is excluded or invalid. */
  entry: OperationEntry | undefined;
}

/** Offers the operations of a source to a registry, and applies its changes. An invalid one does not affect the others. */
export class Follower implements Following, OperationOwner {
  readonly isForeign: boolean;
  readonly hasForeignNamespaces: boolean;
  readonly #core: RegistryCore;
  readonly #source: OperationSource;
  readonly #adapter: SourceAdapter;
  readonly #onReport: FollowOptions["onReport"];
  readonly #hooks: FollowHooks;
  /** By id in the source. */
  readonly #operations = new Map<string, FollowedOperation>();
  /** Ids in the source of removed operations, if they differ from the registered ids: a lost peer may return. */
  readonly #formerIds = new BoundedMap<string, string>(1_000);
  readonly #early: SourceChange[] = [];
  #stop: Unsubscribe | undefined = undefined;
  #state: "loading" | "following" | "closed" = "loading";
  #closing: Promise<void> | undefined = undefined;
  /** Everything since the last report. */
  #report = new ReportBuilder();
  #lastReport: SourceReport | undefined = undefined;
  #isReportDue = false;

  constructor(core: RegistryCore, source: OperationSource, options: FollowOptions, hooks: FollowHooks) {
    this.#core = core;
    this.#source = source;
    this.#adapter = new SourceAdapter(source, options, hooks);
    this.#onReport = options.onReport;
    this.#hooks = hooks;
    this.isForeign = source.traits?.foreignIds === true;
    this.hasForeignNamespaces = this.isForeign && options.namespace === undefined;
    core.followers.add(this);
    core.ownership.expect(this, options.namespace, this.isForeign);
  }

  /** The ids of its operations that are registered. Operations whose id is taken are missing. */
  get ids(): string[] {
    return Array.from(this.#operations.values()).flatMap(({ entry }) =>
      entry !== undefined && this.#core.operations.get(entry.id) === entry ? [entry.id] : [],
    );
  }

  /** Returns whether the operation with this id is from the source. */
  has(id: string): boolean {
    return this.#core.operations.get(id)?.owner === this;
  }

  /** Returns whether the source may soon provide an operation that it does not have now. */
  mayHave(id: string): boolean {
    return this.#source.traits?.mayHave?.(this.#formerIds.get(id) ?? id) ?? false;
  }

  /** Applies the hooks to all operations again, because their results have changed. */
  refresh(): void {
    for (const { definition } of this.#operations.values()) this.#add(definition);
    this.#reportSoon();
  }

  /** Withdraws the operations whose ids have been reserved since they were offered. */
  withdrawRefused(): void {
    for (const [sourceId, operation] of this.#operations) {
      const { entry } = operation;
      if (entry === undefined || !this.#isRefused(sourceId, entry.spec.namespace)) continue;
      this.#offer(sourceId, operation, undefined);
      this.#reportSoon();
    }
  }

  /** Reports an operation that is not registered, unless an equal one is: several peers often announce the same ones. */
  onWaiting(waiting: OperationEntry, active: OperationEntry): void {
    const { id } = waiting;
    if (active.owner === this) {
      const [where = id, user = id] = [waiting, active].map((entry) => this.#sourceIdOf(entry));
      this.#report.skipped(where, `${quote(user)} has the same id ${quote(id)} in the registry.`);
    } else if (hasSameSchemas(active.spec, waiting.spec)) {
      log.debug("{id} of {source} is registered when its id is free.", { id, source: this.#source.name });
    } else {
      this.#report.skipped(id, "An operation with the same id and a different schema is already registered.");
    }
    this.#reportSoon();
  }

  /** Loads the source. `closing` fires when the registry is closed. */
  async start(closing: AbortSignal): Promise<void> {
    const { signal = closing } = this.#hooks;
    // Listen before loading, so that no change is lost.
    this.#stop = this.#source.onChange?.((change) => {
      if (this.#state === "loading") this.#early.push(change);
      else if (this.#state === "following") this.#apply(change);
    });
    try {
      signal.throwIfAborted();
      const onReport = (report: SourceReport) => {
        this.#report.include(report);
        this.#reportSoon();
      };
      const isRead = this.#onReport !== undefined || this.#hooks.onReport !== undefined;
      // Without a receiver, the source logs skipped operations itself.
      const definitions = await this.#source.load(isRead ? { signal, onReport } : { signal });
      if (this.isForeign) await this.#core.ownership.whenPeersMayStart(signal);
      if (this.#state === "closed") return;
      for (const definition of definitions) this.#add(definition);
    } catch (error) {
      this.#stop?.();
      this.#core.followers.delete(this);
      if (signal.aborted) await this.close(); // Loading is not retried.
      throw error;
    } finally {
      this.#core.ownership.settle(this);
    }
    this.#adapter.reportUnused(this.#operations.keys(), this.#report);
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
    const { ids } = this;
    this.#state = "closed";
    this.#core.followers.delete(this);
    this.#stop?.();
    for (const { entry } of this.#operations.values()) if (entry !== undefined) this.#core.withdraw(entry);
    this.#operations.clear();
    this.#core.endSubscriptions(ids, unavailable("The source of the operation was closed.", { mayHaveRun: true }));
    await this.#hooks.onRemoved?.(ids);
    await this.#source.close();
  }

  #apply({ added, changed, removed }: SourceChange): void {
    for (const sourceId of removed) {
      this.#offer(sourceId, this.#operations.get(sourceId), undefined);
      this.#operations.delete(sourceId);
    }
    for (const definition of [...changed, ...added]) this.#add(definition);
    this.#reportSoon();
  }

  #add(definition: IOperationDefinition): void {
    let sourceId = "(not an operation)";
    try {
      sourceId = formatOperationId(definition.namespace, definition.name);
      const operation = this.#operations.get(sourceId) ?? { definition, entry: undefined };
      operation.definition = definition;
      this.#operations.set(sourceId, operation);
      this.#offer(sourceId, operation, this.#toEntry(sourceId, definition));
    } catch (error) {
      this.#report.skipped(sourceId, mapError(error).message);
    }
  }

  /** Creates the candidate of an operation; `undefined` if it must not be registered. Throws a `CallError` if it is invalid. */
  #toEntry(sourceId: string, definition: IOperationDefinition): OperationEntry | undefined {
    const adapted = this.#adapter.adapt(sourceId, definition);
    if (adapted === undefined) {
      this.#report.skipped(sourceId, "The configuration excludes it.", { requested: true });
      return undefined;
    }
    if (this.#isRefused(sourceId, adapted.namespace)) return undefined;
    if (!this.isForeign) this.#core.ownership.reserve(adapted.namespace);
    return createEntry(adapted, { owner: this });
  }

  /** Returns whether an operation must not have a namespace, and reports it. The log has one warning per namespace. */
  #isRefused(sourceId: string, namespace: string): boolean {
    if (this.#core.ownership.mayUse(namespace, this)) return false;
    const reason = `The namespace ${quote(namespace)} is reserved for another source. Set "namespace" to import it under another one.`;
    this.#report.skipped(sourceId, reason, { requested: true });
    this.#report.warn(namespace, reason);
    return true;
  }

  /** Replaces the candidate of an operation. */
  #offer(sourceId: string, operation: FollowedOperation | undefined, entry: OperationEntry | undefined): void {
    if (operation === undefined) return;
    const before = operation.entry;
    operation.entry = entry; // Change listeners may react immediately.
    if (before !== undefined && before.id !== entry?.id) {
      if (before.id !== sourceId) this.#formerIds.set(before.id, sourceId);
      this.#core.withdraw(before);
    }
    if (entry === undefined) return;
    this.#core.offer(entry, before);
    if (this.#core.operations.get(entry.id) !== entry) return;
    this.#report.imported(entry.id);
    if (this.hasForeignNamespaces && this.#core.ownership.isIncomplete) {
      this.#report.warn("nested calls", withheldReason);
    }
  }

  #sourceIdOf(entry: OperationEntry): string | undefined {
    for (const [sourceId, operation] of this.#operations) if (operation.entry === entry) return sourceId;
    return undefined;
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
      () => {
        report.deliver(receiver);
        this.#hooks.onReport?.(report.report);
      },
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
