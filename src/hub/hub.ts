import { isDeepStrictEqual } from "node:util";
import type { OperationSource, Unsubscribe } from "../from/source.ts";
import type { BackOffRange } from "../internal/back-off.ts";
import { Emitter } from "../internal/emitter.ts";
import { logger } from "../internal/log.ts";
import { settlesWithin } from "../internal/wait.ts";
import { type FetchServer, type Listener, listen, type UpgradeHandler } from "../node/index.ts";
import { CallError, resolveDuration } from "../operation/index.ts";
import { OperationRegistry } from "../registry/index.ts";
import { serveHTTP } from "../serve/http/index.ts";
import { serveMCP } from "../serve/mcp/index.ts";
import { serveWebSocket } from "../transport/websocket/index.ts";
import { createAccess, type HubAccess } from "./access.ts";
import type { HubConfig, HubServeConfig, ResolvedConfig } from "./config.ts";
import { loadConfig } from "./config-load.ts";
import { type Environment, resolveConfig } from "./config-resolve.ts";
import { type History, openHistory } from "./history.ts";
import { HubSource, type SourceHost, type SourcePlan, type SourceState } from "./hub-source.ts";
import { createRules, planSources } from "./hub-sources.ts";
import { managementSource, unrecordedOperations } from "./management.ts";
import { applyRules, type RuledSource } from "./rules.ts";

const log = logger("hub");

/** Options of {@link createHub}. */
export interface HubOptions {
  /** File that the configuration comes from, which `reload()` reads again. */
  file?: string | undefined;
  /** Folder that relative paths of the configuration start from. @default the working directory of this process */
  folder?: string | undefined;
  /** Variables that the configuration may use. @default the environment of this process */
  environment?: Environment | undefined;
  /** Whether the hub listens as `serve` of the configuration describes. @default true */
  listen?: boolean | undefined;
  /** Loads modules again when they change, and sends the messages of unexpected errors to callers. @default false */
  dev?: boolean | undefined;
  /**
   * Maximum time in ms that `createHub` and `reload` wait until every source is ready or has failed once. Later ones
   * continue to connect. 0 does not wait. @default 10,000
   */
  startTimeout?: number | undefined;
  /** Delays in ms before a failed source is tried again; they double up to `max`. @default 1,000 to 60,000 */
  retry?: BackOffRange | undefined;
  /** Maximum time in ms for running calls to end when a source or the hub is closed. @default 10,000 */
  closeTimeout?: number | undefined;
  /** Whether warnings about sources and their operations are logged. @default true */
  log?: boolean | undefined;
}

/** The names of the sources that a reload changed. Other sources continue without an interruption. */
export interface ReloadSummary {
  /** Sources that are new. */
  readonly added: string[];
  /** Sources whose configuration differs, which were closed and started again. */
  readonly restarted: string[];
  /** Sources that were closed. */
  readonly removed: string[];
}

/** A running hub: the operations of all its sources in one registry, which it serves as configured. */
export interface Hub extends AsyncDisposable {
  /** The operations of all sources, and those that manage the hub. */
  readonly registry: OperationRegistry;
  /** The address at which it listens, such as `http://127.0.0.1:4000`. `undefined` if it does not listen. */
  readonly url: string | undefined;
  /** The token that the hub created, because its configuration has no `access`. Do not log it. */
  readonly token: string | undefined;
  /** The current states of all sources, in the order of the configuration. */
  sources(): SourceState[];
  /** Returns the name of the source of an operation; `undefined` for an operation of the hub itself. */
  sourceOf(operationId: string): string | undefined;
  /** Calls `listener` with the new state of a source whenever it changes. */
  onSourceChange(listener: (state: SourceState) => void): Unsubscribe;
  /**
   * Applies another configuration, or reads the file again. Only sources whose configuration differs are restarted, after
   * their running calls have ended; calls of other sources are not affected. Rejects with `VALIDATION_ERROR` and changes
   * nothing if the configuration is invalid, or if `serve` differs, which needs a new hub.
   */
  reload(config?: HubConfig): Promise<ReloadSummary>;
  /** Stops listening, lets running calls end, and closes all sources. May be called more than once. */
  close(): Promise<void>;
}

/**
 * Starts a hub: connects to all sources of a configuration and, with `serve`, listens for calls. A source that fails never
 * stops the hub: it is tried again until the hub is closed. Without `access`, callers need the token that the hub creates.
 * Rejects if the configuration is invalid or if it cannot listen; then nothing is left open.
 */
export async function createHub(config: HubConfig, options: HubOptions = {}): Promise<Hub> {
  const hub = new RunningHub(resolve(config, options), options);
  try {
    await hub.start();
    return hub;
  } catch (error) {
    await hub.close();
    throw error;
  }
}

class RunningHub implements Hub, SourceHost {
  readonly registry: OperationRegistry;
  readonly retry: BackOffRange;
  readonly drainTimeout: number;
  readonly isLogging: boolean;
  readonly #options: HubOptions;
  readonly #startTimeout: number;
  readonly #access: HubAccess;
  readonly #management: RuledSource;
  #history: History | undefined = undefined;
  readonly #states = new Emitter<SourceState>((error) => log.error("A listener failed: {error}", { error }));
  #config: ResolvedConfig;
  /** By name, in the order of the configuration. */
  #sources = new Map<string, HubSource>();
  #listener: Listener | undefined = undefined;
  /** Whether all sources have ended their first attempt, or had the time for it. */
  #isStarted = false;
  /** Resolves when no change of the sources is running or waiting. */
  #reloading: Promise<unknown> = Promise.resolve();
  #closed: Promise<void> | undefined = undefined;

  constructor(config: ResolvedConfig, options: HubOptions) {
    const { log: isLogging = true, environment } = options;
    this.#config = config;
    this.#options = options;
    this.#startTimeout = resolveDuration("startTimeout", options.startTimeout, 10_000, { zero: true, infinite: true });
    this.drainTimeout = resolveDuration("closeTimeout", options.closeTimeout, 10_000, { zero: true });
    this.retry = options.retry ?? { first: 1_000, max: 60_000 };
    this.isLogging = isLogging;
    this.registry = new OperationRegistry({ log: isLogging });
    this.#access = createAccess(config.access, {
      registry: this.registry,
      ...(environment !== undefined && { environment: { ...environment } }),
    });
    this.#management = applyRules(this.#ownOperations(), config.rules ?? [], {
      name: "hub",
      accessControl: { requiredScopes: [] }, // Each of them has its own rule.
    });
  }

  get url(): string | undefined {
    return this.#listener?.url;
  }

  get token(): string | undefined {
    return this.#access.token;
  }

  async start(): Promise<void> {
    const plans = await this.#plan(this.#config);
    this.#history = await openHistory(this.registry, this.#config.history, unrecordedOperations);
    await this.registry.follow(this.#management.source, this.#management.options);
    await this.#listen();
    const rules = createRules(this.#config.rules, plans);
    for (const plan of plans) this.#sources.set(plan.name, new HubSource(plan, this, rules(plan)));
    await this.#startSources([...this.#sources.values()]);
    this.#isStarted = true;
  }

  sources(): SourceState[] {
    return Array.from(this.#sources.values(), ({ state }) => state);
  }

  sourceOf(operationId: string): string | undefined {
    for (const source of this.#sources.values()) if (source.holds(operationId)) return source.plan.name;
    return undefined;
  }

  onSourceChange(listener: (state: SourceState) => void): Unsubscribe {
    return this.#states.on(listener);
  }

  onState(source: HubSource): void {
    if (this.#states.hasListeners) this.#states.emit(source.state);
  }

  reload(config?: HubConfig): Promise<ReloadSummary> {
    return this.#enqueue(() => this.#reload(config));
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const failures: unknown[] = [];
    const attempt = (closing: Promise<unknown> | undefined) => closing?.catch((error) => failures.push(error));
    await attempt(this.#listener?.close());
    const closing = Array.from(this.#sources.values(), (source) => attempt(source.close()));
    await this.#reloading; // It may wait for sources that are connecting, which closing them ends.
    await Promise.all(closing);
    await attempt(this.registry.close());
    await attempt(this.#access.close());
    await attempt(this.#history?.close());
    if (failures.length > 0) throw failures[0];
  }

  /** The operations of the hub itself. It is followed first, and knows which operations may appear soon. */
  #ownOperations(): OperationSource {
    const management = managementSource({
      registry: this.registry,
      history: () => this.#history!,
      sources: () => this.sources(),
      sourceOf: (operationId) => this.sourceOf(operationId),
      reload: () => this.reload(),
    });
    return {
      ...management,
      isIncomplete: (operationId) => Array.from(this.#sources.values()).some((source) => source.mayHave(operationId)),
    };
  }

  async #listen(): Promise<void> {
    const { serve } = this.#config;
    if (serve === undefined || this.#options.listen === false) return;
    const { host, port = 4_000 } = serve;
    this.#listener = await listen(this.#createServers(serve), {
      ...(host !== undefined && { host }),
      port,
      closeTimeout: this.drainTimeout,
      health: () => this.#isStarted,
    });
    await this.#access.announce(this.#listener.url);
  }

  #createServers({ http = true, mcp = true, websocket = true }: HubServeConfig) {
    const options = { authenticate: this.#access };
    const exposeErrors = this.#options.dev === true;
    const servers: Record<string, FetchServer | UpgradeHandler> = {};
    if (http) servers["/"] = serveHTTP(this.registry, { ...options, exposeErrors });
    if (mcp) servers["/mcp"] = serveMCP(this.registry, { ...options, exposeErrors });
    if (websocket) servers["/calls"] = serveWebSocket(this.registry, options);
    return servers;
  }

  #plan(config: ResolvedConfig): Promise<SourcePlan[]> {
    return planSources(config.sources ?? {}, {
      registry: this.registry,
      isLogging: this.isLogging,
      watchesModules: this.#options.dev === true,
      environment: this.#options.environment ?? process.env,
      onReadable: () => {
        this.#enqueue(async () => this.#apply(await this.#plan(this.#config))).catch((error) =>
          log.error("The sources could not be changed: {error}", { error }),
        );
      },
    });
  }

  /** Runs changes of the sources one after the other. */
  #enqueue<T>(change: () => Promise<T>): Promise<T> {
    const changing = this.#reloading.then(change);
    this.#reloading = changing.catch(() => {});
    return changing;
  }

  /** Starts sources and waits for their first attempts, at most `startTimeout`. */
  async #startSources(sources: readonly HubSource[]): Promise<void> {
    for (const source of sources) source.start();
    const attempts = Promise.all(sources.map(({ firstAttempt }) => firstAttempt));
    if (this.#startTimeout > 0) await settlesWithin(this.#startTimeout, attempts);
  }

  async #reload(given: HubConfig | undefined): Promise<ReloadSummary> {
    const config = given === undefined ? await this.#readFile() : resolve(given, this.#options);
    const plans = await this.#plan(config);
    if (this.#closed !== undefined) throw new CallError("UNAVAILABLE", "The hub is closed.");
    if (!isDeepStrictEqual(config.serve, this.#config.serve)) {
      throw invalid('"serve" differs from that of the running hub. Restart the hub to change it. Nothing was changed.');
    }
    const history = await this.#history!.prepare(config.history);
    try {
      await this.#access.update(config.access); // Throws and changes nothing if a token is invalid.
    } catch (error) {
      await history.cancel();
      throw error;
    }
    await history.apply();
    this.#management.setRules(config.rules ?? []);
    this.#config = config;
    return this.#apply(plans);
  }

  async #apply(plans: readonly SourcePlan[]): Promise<ReloadSummary> {
    const rules = createRules(this.#config.rules, plans);
    const summary: ReloadSummary = { added: [], restarted: [], removed: [] };
    const before = this.#sources;
    const after = new Map<string, HubSource>();
    for (const plan of plans) {
      const known = before.get(plan.name);
      if (known?.hasPlan(plan)) {
        known.setRules(rules(plan));
        after.set(plan.name, known);
        continue;
      }
      summary[known === undefined ? "added" : "restarted"].push(plan.name);
      after.set(plan.name, new HubSource(plan, this, rules(plan), known));
    }
    summary.removed.push(...[...before.keys()].filter((name) => !after.has(name)));
    this.#sources = after;
    const ended = [...before.values()].filter((source) => after.get(source.plan.name) !== source);
    const started = [...after.values()].filter((source) => before.get(source.plan.name) !== source);
    await Promise.all(ended.map((source) => this.#closeSource(source)));
    if (this.#closed === undefined) await this.#startSources(started);
    return summary;
  }

  async #closeSource(source: HubSource): Promise<void> {
    try {
      await source.close();
    } catch (error) {
      log.warn("The source {name} could not be closed: {error}", { name: source.plan.name, error });
    }
  }

  async #readFile(): Promise<ResolvedConfig> {
    const { file, environment } = this.#options;
    if (file === undefined) throw invalid("The hub was not started with a file. Pass the configuration to reload().");
    const { config } = await loadConfig(file, { environment });
    return config;
  }
}

function resolve(config: HubConfig, { file, folder, environment }: HubOptions): ResolvedConfig {
  return resolveConfig(config, { file, folder, environment });
}

function invalid(message: string): CallError {
  return new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
}
