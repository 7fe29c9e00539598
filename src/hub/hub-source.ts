import { isDeepStrictEqual } from "node:util";
import type { OperationSource, Unsubscribe } from "../from/source.ts";
import { BackOff, type BackOffRange } from "../internal/back-off.ts";
import { logger, warnVisibly } from "../internal/log.ts";
import { truncate } from "../internal/text.ts";
import { pause, waitFor } from "../internal/wait.ts";
import { type CallError, mapError, unavailable } from "../operation/index.ts";
import type { Following, OperationRegistry } from "../registry/index.ts";
import type { HubRule, SourceOptions } from "./config.ts";
import { applyRules, type RuledSource } from "./rules.ts";
import { TrackedSource } from "./tracked-source.ts";

const log = logger("hub");

/** Maximum length of a reason, in characters. */
const maxReasonLength = 1_000;

/** What a source is connected to. */
export type SourceKind = "modules" | "openapi" | "mcp" | "nats" | "redis" | "websocket";

/**
 * Status of a source. It is `connecting` until its first attempt has ended, and `ready` while it is connected. While it is
 * `retrying`, the reason is temporary. While it has `failed`, the reason remains until a person fixes it. Both are tried
 * again until the hub is closed.
 */
export type SourceStatus = "connecting" | "ready" | "retrying" | "failed";

/** State of a source of a hub. */
export interface SourceState {
  /** Name of the source in the configuration; for a server of `mcpConfig`, its name follows a slash. */
  readonly name: string;
  /** What it is connected to. */
  readonly kind: SourceKind;
  /** Its status. */
  readonly status: SourceStatus;
  /** When it entered this status, in milliseconds since the epoch. */
  readonly since: number;
  /** Why it is not ready. Never contains secrets of the configuration. */
  readonly reason?: string;
  /** When the next attempt starts, in milliseconds since the epoch. Absent while an attempt is running. */
  readonly nextAttempt?: number;
  /** Number of its operations in the registry. */
  readonly operations: number;
}

/** The parts of a state that change with its status. */
type Condition = Omit<SourceState, "name" | "kind" | "operations">;

/** What an open source reports about its connection. */
export type ConnectionChange =
  | { readonly status: "ready" }
  | {
      /** `retrying` while the source reconnects by itself; `failed` when it has stopped trying. */
      readonly status: "retrying" | "failed";
      readonly error?: CallError | undefined;
    };

/** A source that was opened. Closing `source` closes everything that was opened for it. */
export interface OpenedSource {
  readonly source: OperationSource;
  /** Reports changes of the connection, and its state now unless it is ready. Absent if there is no connection. */
  onConnectionChange?(listener: (change: ConnectionChange) => void): Unsubscribe;
  /** Connects again after `failed`. */
  reconnect?(): Promise<void>;
}

/** How to open a source, and how its operations are registered. */
export interface SourcePlan {
  readonly name: string;
  readonly kind: SourceKind;
  /** Its configuration. A source is restarted when it differs. */
  readonly config: unknown;
  /** Namespace of its operations, if it is known before they are loaded. */
  readonly namespace?: string | undefined;
  /** How its operations are selected, renamed and restricted. `name` is the scope that they require by default. */
  readonly options: SourceOptions & { readonly name: string };
  open(): OpenedSource | Promise<OpenedSource>;
}

/** What the sources of a hub share. */
export interface SourceHost {
  readonly registry: OperationRegistry;
  readonly retry: BackOffRange;
  /** Maximum time in ms for running calls to end when a source is closed. */
  readonly drainTimeout: number;
  readonly isLogging: boolean;
  onState(source: HubSource): void;
}

/** The life of one source: opens and follows it, tries again after failures, and closes it. */
export class HubSource {
  readonly plan: SourcePlan;
  readonly #host: SourceHost;
  readonly #backOff: BackOff;
  readonly #closing = new AbortController();
  /** Ids that this source had before it was restarted. */
  readonly #formerIds: ReadonlySet<string>;
  #rules: readonly HubRule[];
  #state: Condition = { status: "connecting", since: Date.now() };
  #opened: OpenedSource | undefined = undefined;
  #tracked: TrackedSource | undefined = undefined;
  #ruled: RuledSource | undefined = undefined;
  #following: Following | undefined = undefined;
  /** Resolves when the source has stopped trying to reconnect by itself. */
  #onFailed: ((error: CallError | undefined) => void) | undefined = undefined;
  #run: Promise<void> | undefined = undefined;
  #closed: Promise<void> | undefined = undefined;
  readonly #firstAttempt: Promise<void>;
  #endFirstAttempt!: () => void;

  constructor(plan: SourcePlan, host: SourceHost, rules: readonly HubRule[], former?: HubSource) {
    this.plan = plan;
    this.#host = host;
    this.#rules = rules;
    this.#backOff = new BackOff(host.retry);
    this.#formerIds = new Set(former?.ids());
    this.#firstAttempt = new Promise((resolve) => {
      this.#endFirstAttempt = resolve;
    });
  }

  /** Starts to connect. */
  start(): void {
    this.#run ??= this.#keepConnected();
  }

  /** Resolves when the first attempt has ended, whether it succeeded or not. */
  get firstAttempt(): Promise<void> {
    return this.#firstAttempt;
  }

  get state(): SourceState {
    const { name, kind } = this.plan;
    return { name, kind, ...this.#state, operations: this.ids().length };
  }

  /** Returns whether a plan is the one that this source was made from. */
  hasPlan(plan: SourcePlan): boolean {
    return this.plan.kind === plan.kind && isDeepStrictEqual(this.plan.config, plan.config);
  }

  /** Returns whether the operation with this id in the registry is from this source. */
  holds(id: string): boolean {
    return this.#tracked?.holds(id) ?? false;
  }

  /** Returns whether the source may soon provide an operation that it does not have now. */
  mayHave(id: string): boolean {
    if (this.#state.status === "ready") return false;
    const { namespace } = this.plan;
    return this.#formerIds.has(id) || (namespace !== undefined && id.startsWith(`${namespace}.`));
  }

  /** Ids of its operations in the registry. */
  ids(): string[] {
    return this.#tracked?.ids() ?? [];
  }

  /** Applies other rules to its operations. Running calls continue. */
  setRules(rules: readonly HubRule[]): void {
    this.#rules = rules;
    this.#ruled?.setRules(rules);
  }

  /** Removes its operations, lets running calls end, and closes it. Cancels a running attempt. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort(this.#stopped());
    this.#endFirstAttempt();
    await this.#following?.close();
    await this.#run;
  }

  #stopped(): CallError {
    return unavailable(`The source "${this.plan.name}" was stopped.`, { mayHaveRun: false });
  }

  /** Opens the source until that succeeds. Opens it again when it has stopped to reconnect by itself. */
  async #keepConnected(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      let error: unknown;
      const failed = new Promise<CallError | undefined>((resolve) => {
        this.#onFailed = resolve;
      });
      try {
        const isFirst = this.#opened === undefined;
        if (isFirst) await this.#open();
        else if (this.#state.status !== "ready") await this.#opened!.reconnect!();
        if (signal.aborted) return;
        const readySince = performance.now();
        this.#set({ status: "ready" });
        this.#endFirstAttempt();
        if (isFirst) this.#opened!.onConnectionChange?.((change) => this.#onConnectionChange(change));
        error = await waitFor(failed, { signal }, () => this.#stopped());
        // A source that fails soon after it was ready is tried less and less often.
        if (performance.now() - readySince >= this.#host.retry.max) this.#backOff.reset();
      } catch (thrown) {
        error = thrown;
      }
      if (!signal.aborted) await this.#waitAfter(error);
    }
  }

  async #waitAfter(error: unknown): Promise<void> {
    const { message, retryable } = mapError(error);
    const delay = this.#backOff.next();
    const reason = truncate(message, maxReasonLength);
    if (reason !== this.#state.reason && this.#host.isLogging) this.#warn(reason);
    this.#set({ status: retryable ? "retrying" : "failed", reason, nextAttempt: Date.now() + Math.ceil(delay) });
    this.#endFirstAttempt();
    await pause(delay, this.#closing.signal).catch(() => {}); // It is closed.
    const { status } = this.#state;
    if (status !== "ready" && !this.#closing.signal.aborted) this.#set({ status, reason });
  }

  async #open(): Promise<void> {
    const { plan } = this;
    const { signal } = this.#closing;
    const opening = Promise.resolve().then(() => plan.open());
    let opened: OpenedSource;
    try {
      opened = await waitFor(opening, { signal }, () => this.#stopped());
    } catch (error) {
      if (signal.aborted) opening.then(({ source }) => source.close()).catch(() => {}); // It was opened too late.
      throw error;
    }
    const { registry, drainTimeout } = this.#host;
    this.#tracked = new TrackedSource(opened.source, { ...plan, registry, drainTimeout, signal });
    this.#ruled = applyRules(this.#tracked, this.#rules, plan.options);
    try {
      this.#following = await registry.follow(this.#ruled.source, this.#ruled.options);
    } catch (error) {
      await opened.source.close().catch((reason: unknown) => this.#logClosing(reason));
      throw error;
    }
    this.#opened = opened;
    if (signal.aborted) await this.#following.close();
  }

  #onConnectionChange(change: ConnectionChange): void {
    if (this.#closing.signal.aborted) return;
    if (change.status === "ready") return this.#set({ status: "ready" });
    this.#set({ status: "retrying", reason: truncate(change.error?.message ?? "It reconnects.", maxReasonLength) });
    if (change.status === "failed") this.#onFailed?.(change.error);
  }

  #set(state: Omit<Condition, "since">): void {
    const isSame = state.status === this.#state.status;
    this.#state = { ...state, since: isSame ? this.#state.since : Date.now() };
    if (!isSame) log.info("The source {name} is {status}.", { name: this.plan.name, status: state.status });
    this.#host.onState(this);
  }

  #warn(reason: string): void {
    const message = "The source {name} is not available, and is tried again: {reason}";
    warnVisibly(log, [{ message, properties: { name: this.plan.name, reason } }]);
  }

  #logClosing(error: unknown): void {
    log.warn("The source {name} could not be closed: {error}", { name: this.plan.name, error });
  }
}
