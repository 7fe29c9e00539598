import type { OperationSource } from "../from/source.ts";
import type { BackOffRange } from "../internal/back-off.ts";
import { logger, warnVisibly } from "../internal/log.ts";
import { toReason, truncate } from "../internal/text.ts";
import { waitFor } from "../internal/wait.ts";
import { type CallError, mapError, unavailable } from "../operation/inside.ts";
import {
  coreOf,
  type Follower,
  type FollowOptions,
  type OperationRegistry,
  type RegistryCore,
} from "../registry/inside.ts";
import type { Environment } from "./config-variables.ts";
import { type Connection, type ConnectionState, KeptConnection } from "./keep-connected.ts";
import type { Restrict } from "./rules.ts";
import type { RunningCalls } from "./running-calls.ts";

const log = logger("hub");

/** Maximum length of a reason, in characters. */
const maxReasonLength = 1_000;

/** Maximum number of lines of a report. */
const maxReportLines = 100;

/** What a source is connected to. */
export type SourceKind = "modules" | "openapi" | "mcp" | "nats" | "redis" | "websocket";

/** State of a source of a hub. The reason never contains secrets of the configuration. */
export interface SourceState extends ConnectionState {
  /** Name of the source in the configuration; for a server of `mcpConfig`, its name follows a slash. */
  readonly name: string;
  /** What it is connected to. */
  readonly kind: SourceKind;
  /** Number of its operations in the registry. */
  readonly operations: number;
  /** Where it is: a folder, a URL without its query, or a program. */
  readonly address?: string;
  /** What the last import left out or changed: at most 100 of each. */
  readonly report?: { readonly imported: number; readonly skipped: string[]; readonly warnings: string[] };
}

/** A source that was opened. Closing `source` closes everything that was opened for it. */
export interface OpenedSource extends Connection {
  readonly source: OperationSource;
  /** Connects again after it was lost. */
  reconnect?(): Promise<void>;
  /** Reads again what may have changed since it was opened. */
  reload?(): Promise<void>;
}

/** How to open a source, and how its operations are registered. */
export interface SourcePlan {
  readonly name: string;
  readonly kind: SourceKind;
  /** Where it is, without secrets. */
  readonly address: string | undefined;
  /** Whether others choose the ids of its operations: peers, or a trusted server. */
  readonly isForeign: boolean;
  /** Its configuration. A source is restarted when it differs. */
  readonly config: unknown;
  /** Namespace of its operations, if it is known before they are loaded. */
  readonly namespace: string | undefined;
  /** Name of the source or server as it is written, which its operations have as namespace unless another one is set. */
  readonly alias: string | undefined;
  /** How its operations are selected, renamed and restricted. */
  readonly options: FollowOptions;
  /** Whether other sources have the same options, because all of them are servers of one file. */
  readonly sharesOptions: boolean;
  open(): OpenedSource | Promise<OpenedSource>;
}

/** What the sources of a hub share. */
export interface SourceHost {
  readonly registry: OperationRegistry;
  readonly running: RunningCalls;
  readonly retry: BackOffRange;
  /** Maximum time in ms for running calls to end when a source is closed. */
  readonly drainTimeout: number;
  readonly isLogging: boolean;
  /** Whether modules are loaded again when they change. */
  readonly watchesModules: boolean;
  readonly environment: Environment;
  /** Real path of the configuration, if it comes from a file. */
  readonly file: string | undefined;
  /** The address at which the hub listens, once it does. */
  url(): string | undefined;
  onState(state: SourceState): void;
  /** Called when a file that could not be read before can be read now, so that the sources have to be planned again. */
  onReadable(): void;
}

/** The life of one source: opens and follows it, tries again after failures, and closes it. */
export class HubSource {
  readonly plan: SourcePlan;
  readonly #host: SourceHost;
  readonly #core: RegistryCore;
  readonly #connection: KeptConnection;
  /** Ids of the operations that this source had before it was restarted. */
  readonly #formerIds: ReadonlySet<string>;
  #restrict: Restrict;
  #report: SourceState["report"] = undefined;
  #opened: OpenedSource | undefined = undefined;
  #following: Follower | undefined = undefined;

  constructor(plan: SourcePlan, host: SourceHost, restrict: Restrict, former?: HubSource) {
    this.plan = plan;
    this.#host = host;
    this.#restrict = restrict;
    this.#connection = new KeptConnection({
      attempt: (signal) => this.#connect(signal),
      retry: host.retry,
      explain: (problem) => {
        const { message, retryable } = mapError(problem);
        return { reason: truncate(message, maxReasonLength), isTemporary: retryable };
      },
      onChange: (state, before) => this.#onChange(state, before),
    });
    this.#formerIds = new Set(former?.expectedIds);
    this.#core = coreOf(host.registry);
    this.#core.ownership.expect(this, plan.namespace, plan.isForeign);
  }

  get state(): SourceState {
    const { name, kind, address } = this.plan;
    const state = { name, kind, ...this.#connection.state, operations: this.ids.length };
    return { ...state, ...(address !== undefined && { address }), ...(this.#report && { report: this.#report }) };
  }

  /** Starts to connect. Resolves when the first attempt has ended, whether it succeeded or not. */
  start(): Promise<void> {
    return this.#connection.start();
  }

  /** Ends the pause before the next attempt. Returns whether there was one. */
  retry(): boolean {
    return this.#connection.retry();
  }

  /** Reads again what may have changed since it was opened. If that fails, what was read before stays. */
  async reload(): Promise<void> {
    await this.#opened?.reload?.().catch((error) => this.#warn("cannot be read again", toReason(mapError(error))));
  }

  /** The ids of its operations in the registry. */
  get ids(): string[] {
    return this.#following?.ids ?? [];
  }

  /** The ids of its operations, or of those that it had before it was restarted. */
  get expectedIds(): readonly string[] {
    return this.#following === undefined ? [...this.#formerIds] : this.ids;
  }

  /** Returns whether the operation with this id is from the source. */
  has(id: string): boolean {
    return this.#following?.has(id) === true;
  }

  /** Returns whether the source may soon provide an operation that it does not have now. */
  mayHave(id: string): boolean {
    if (this.#connection.state.status === "ready") return false;
    const { namespace } = this.plan;
    return this.#formerIds.has(id) || (namespace !== undefined && id.startsWith(`${namespace}.`));
  }

  /** Applies other rules to its operations. Running calls continue. */
  setRules(restrict: Restrict): void {
    this.#restrict = restrict;
    this.#following?.refresh();
  }

  /** Removes its operations, lets running calls end, and closes it. Cancels a running attempt. */
  async close(): Promise<void> {
    const disconnected = this.#connection.close(this.#stopped());
    this.#core.ownership.settle(this);
    await this.#following?.close();
    await disconnected;
  }

  #stopped(): CallError {
    return unavailable(`The source "${this.plan.name}" was stopped.`, { mayHaveRun: false });
  }

  /** Opens the source and follows it. Later, connects again what was lost. */
  async #connect(signal: AbortSignal): Promise<OpenedSource> {
    if (this.#opened !== undefined) {
      await this.#opened.reconnect!();
      return this.#opened;
    }
    const opening = Promise.resolve().then(() => this.plan.open());
    let opened: OpenedSource;
    try {
      opened = await waitFor(opening, { signal }, () => this.#stopped());
    } catch (error) {
      opening.then(({ source }) => source.close()).catch(() => {}); // It may be opened too late.
      throw error;
    }
    try {
      this.#following = await this.#core.follow(opened.source, this.plan.options, {
        signal,
        sharesOptions: this.plan.sharesOptions,
        restrict: (spec, ids) => this.#restrict(spec, ids),
        onReport: ({ imported, skipped, warnings }) => {
          const toLine = ({ where, reason }: { where: string; reason: string }) => `${where}: ${reason}`;
          const [left, changed] = [skipped, warnings].map((items) => items.slice(0, maxReportLines).map(toLine));
          this.#report = { imported: imported.length, skipped: left!, warnings: changed! };
        },
        onRemoved: (ids) => this.#host.running.drain(ids, this.#host.drainTimeout),
      });
    } catch (error) {
      await opened.source.close().catch((reason: unknown) => this.#warn("could not be closed", toReason(reason)));
      throw error;
    }
    this.#opened = opened;
    this.#core.ownership.settle(this);
    if (signal.aborted) await this.#following.close();
    return opened;
  }

  #onChange(state: ConnectionState, before: ConnectionState): void {
    const { status, reason, nextAttempt } = state;
    if (status === "closed") return; // Its owner closed it.
    if (status !== before.status) log.info("The source {name} is {status}.", { name: this.plan.name, status });
    if (nextAttempt !== undefined && reason !== undefined && reason !== before.reason) {
      this.#warn("is not available, and is tried again", reason);
    }
    this.#host.onState(this.state);
  }

  #warn(problem: string, reason: string): void {
    if (!this.#host.isLogging) return;
    const message = `The source {name} ${problem}: {reason}`;
    warnVisibly(log, [{ message, properties: { name: this.plan.name, reason } }]);
  }
}
