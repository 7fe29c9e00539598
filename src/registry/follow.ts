import { ReportBuilder } from "../from/report.ts";
import type { OperationSource, SourceChange, SourceReport, Unsubscribe } from "../from/source.ts";
import { onAbort } from "../internal/abort-listeners.ts";
import { BoundedMap } from "../internal/bounded.ts";
import { notify } from "../internal/emitter.ts";
import { logger } from "../internal/log.ts";
import { quote } from "../internal/text.ts";
import { waitFor } from "../internal/wait.ts";
import {
  aborted,
  CallError,
  formatOperationId,
  type IOperationDefinition,
  mapError,
  type OperationSpec,
  resolveDuration,
} from "../operation/index.ts";
import { toCallerView } from "../schema/index.ts";
import type { RegistryCore } from "./core.ts";
import { SourceAdapter } from "./follow-options.ts";
import type { ChangeEvent, Following, FollowOptions, OperationRegistry, WaitForOptions } from "./types.ts";

const log = logger("registry");

type Target = Pick<
  OperationRegistry,
  "get" | "getHandler" | "has" | "on" | "register" | "registerHandler" | "registerSpec" | "replace" | "unregister"
>;

/**
 * Keeps in a registry what a source has. Only operations that came from the source are ever replaced or removed by it;
 * one whose id is taken waits until the id is free, and one that is refused leaves the others alone.
 */
export class Follower implements Following {
  readonly #target: Target;
  readonly #source: OperationSource;
  readonly #adapter: SourceAdapter;
  readonly #onReport: FollowOptions["onReport"];
  /** Id in the registry by the id that the source uses. */
  readonly #ids = new Map<string, string>();
  /** The reverse of {@link #ids}. */
  readonly #sourceIds = new Map<string, string>();
  /** The ids that removed operations had in the source, where those differ: a peer that left may return. */
  readonly #formerIds = new BoundedMap<string, string>(1_000);
  /** What of the source is in the registry, by id. */
  readonly #own = new Map<string, IOperationDefinition>();
  /** Of these, the ones that only added their handler to a registered spec without one. */
  readonly #lent = new Set<string>();
  /** What is not in the registry because its id is taken. */
  readonly #waiting = new Map<string, IOperationDefinition>();
  /** What is not in the registry because another operation of the source has its id, by the id that the source uses. */
  readonly #displaced = new Map<string, { id: string; definition: IOperationDefinition }>();
  readonly #early: SourceChange[] = [];
  readonly #stops: Array<Unsubscribe | undefined> = [];
  #state: "loading" | "following" | "closed" = "loading";
  #closing: Promise<void> | undefined = undefined;
  /** What happened since the last report. */
  #report = new ReportBuilder();
  #lastReport: SourceReport | undefined = undefined;
  #isReportDue = false;

  constructor(target: Target, source: OperationSource, options: FollowOptions) {
    this.#target = target;
    this.#source = source;
    this.#adapter = new SourceAdapter(source, options);
    this.#onReport = options.onReport;
  }

  /** Whether the operation of this id is the source's. */
  holds(id: string): boolean {
    return this.#own.has(id);
  }

  /** Whether the source may have an operation in a moment that it does not have now. */
  mayHave(id: string): boolean {
    return this.#source.isIncomplete?.(this.#formerIds.get(id) ?? id) ?? false;
  }

  async start(signal: AbortSignal): Promise<void> {
    // Listening starts before loading, so that no change in between is lost.
    this.#stops.push(
      this.#source.onChange?.((change) => {
        if (this.#state === "loading") this.#early.push(change);
        else if (this.#state === "following") this.#apply(change);
      }),
    );
    try {
      const definitions = await this.#source.load(this.#loadOptions(signal));
      if (this.#state === "closed") return;
      this.#stops.push(this.#target.on("change", (event) => this.#onChange(event)));
      for (const definition of definitions) this.#add(definition);
      if (definitions.length > 0 && this.#ids.size === 0) {
        this.#report.warn("include", `No operation is registered: none of ${definitions.length} is chosen.`);
      }
    } catch (error) {
      for (const stop of this.#stops) stop?.();
      if (signal.aborted) await this.close(); // the registry is closed: there is no second attempt
      throw error;
    }
    this.#state = "following";
    for (const change of this.#early.splice(0)) this.#apply(change);
    this.#deliverReport();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#state = "closed";
    for (const stop of this.#stops) stop?.();
    this.#waiting.clear();
    this.#displaced.clear();
    for (const id of [...this.#own.keys()]) this.#remove(id);
    await this.#source.close();
  }

  #loadOptions(signal: AbortSignal): Parameters<OperationSource["load"]>[0] {
    if (this.#onReport === undefined) return { signal }; // the source logs what it skips
    return {
      signal,
      onReport: (report) => {
        this.#report.include(report);
        this.#reportSoon();
      },
    };
  }

  #apply({ added, changed, removed }: SourceChange): void {
    for (const sourceId of removed) this.#forget(sourceId);
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
      const adapted = this.#adapter.adapt(sourceId, definition);
      if (adapted?.id !== this.#ids.get(sourceId)) this.#forget(sourceId);
      if (adapted === undefined) {
        return this.#report.skipped(sourceId, "excluded by include or exclude", { requested: true });
      }
      const { id } = adapted;
      const user = this.#sourceIds.get(id) ?? sourceId;
      if (user !== sourceId) {
        this.#displaced.set(sourceId, { id, definition });
        return this.#report.skipped(sourceId, `${quote(user)} is called ${quote(id)} as well.`);
      }
      this.#displaced.delete(sourceId);
      this.#ids.set(sourceId, id);
      this.#sourceIds.set(id, sourceId);
      this.#put(id, adapted.definition);
    } catch (error) {
      this.#report.skipped(sourceId, mapError(error).message);
    }
  }

  /** The source no longer has an operation, or has it under another id. */
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
    if (known === undefined) return this.#claim(id, definition, () => this.#target.register(definition));
    const isEqual = isAlike(known, definition);
    if (known.handler === undefined && isEqual) {
      this.#lent.add(id);
      return this.#claim(id, definition, () => this.#target.registerHandler(id, definition.handler));
    }
    this.#waiting.set(id, definition);
    // Equal ones are common, as on a hub that several peers announce the same to.
    if (isEqual) log.debug("{id} of {source} waits until its id is free.", { id, source: this.#source.name });
    else this.#report.skipped(id, "another operation with this id and another schema is registered; it is not merged.");
  }

  /** What is ours is written down before it is registered, because listeners to changes may act immediately. */
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

  /** Reacts to changes of the registry. Those of this follower are recognised by the handlers that it has noted. */
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
    // What was taken out by hand stays out until the source changes it; what was replaced waits.
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

  /** A source reports before or after it emits a change, so both become one report. */
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
      (error) => log.error("onReport of {source} threw: {error}", { source, error }),
    );
  }
}

/**
 * Whether two specs have the same input and output, so that one can replace the other. What a peer announces is the
 * caller's view of its input.
 */
function isAlike(one: OperationSpec, other: OperationSpec): boolean {
  const shape = ({ type, inputSchema, outputSchema }: OperationSpec) =>
    JSON.stringify([type, toCallerView(inputSchema), outputSchema]);
  try {
    return shape(one) === shape(other);
  } catch {
    return false; // a schema that is made when it is read, and cannot be
  }
}

const defaultWaitMs = 30_000;

/** Resolves when an operation can be called. `closing` fires when the registry is closed, with the error as its reason. */
export async function waitForOperation(
  core: RegistryCore,
  id: string,
  options: WaitForOptions,
  closing: AbortSignal,
): Promise<void> {
  const timeout = resolveDuration("timeout", options.timeout, defaultWaitMs, { infinite: true });
  const isThere = () => core.operations.get(id)?.handler !== undefined;
  closing.throwIfAborted();
  if (isThere()) return;
  const stops: Unsubscribe[] = [];
  const appears = new Promise<void>((resolve, reject) => {
    stops.push(
      core.changes.on(() => {
        if (isThere()) resolve();
      }),
      onAbort(closing, reject),
    );
  });
  try {
    await waitFor(appears, { timeout, signal: options.signal }, (failure) =>
      failure === "TIMEOUT"
        ? notRegistered(id, timeout, core.nearestId(id))
        : aborted(id, options.signal?.reason, false),
    );
  } finally {
    for (const stop of stops) stop();
  }
}

function notRegistered(id: string, timeout: number, nearest: string | undefined): CallError {
  const advice =
    nearest === undefined ? "Check that its source is followed and running." : `Did you mean ${quote(nearest)}?`;
  const message = `No operation ${quote(id)} was registered within ${timeout} ms. ${advice}`;
  const details = nearest === undefined ? { operationId: id } : { operationId: id, nearest };
  return new CallError("TIMEOUT", message, details, { retryable: true, mayHaveRun: false });
}
