import { existsSync, realpathSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { OperationSource, Unsubscribe } from "../from/source.ts";
import { Emitter } from "../internal/emitter.ts";
import { logger } from "../internal/log.ts";
import { isLoopbackHost } from "../internal/urls.ts";
import { settlesWithin } from "../internal/wait.ts";
import { type FetchServer, type Listener, listen, type UpgradeHandler } from "../node/index.ts";
import { CallError, resolveDuration } from "../operation/inside.ts";
import { coreOf, type Follower, type FollowHooks, OperationRegistry } from "../registry/inside.ts";
import { serveHTTP } from "../serve/http/index.ts";
import { serveMCP } from "../serve/mcp/index.ts";
import { serveWebSocket } from "../transport/websocket/index.ts";
import { HubAccess } from "./access.ts";
import type { HubConfig, HubServeConfig, ResolvedConfig } from "./config.ts";
import { loadConfig } from "./config-load.ts";
import { resolveConfig } from "./config-resolve.ts";
import type { Environment } from "./config-variables.ts";
import { ConsoleServer, findConsole } from "./console.ts";
import { consoleOperations } from "./console-operations.ts";
import { describeOperation } from "./describe-operation.ts";
import { type History, openHistory } from "./history.ts";
import { HubSource, type SourceHost, type SourcePlan, type SourceState } from "./hub-source.ts";
import { invalid, planSources } from "./hub-sources.ts";
import { managementOperations, unrecordedOperations } from "./management.ts";
import { compileRules, compileSourceRules, ownOperations, type Restrict } from "./rules.ts";
import { RunningCalls } from "./running-calls.ts";

const log = logger("hub");

/** The version of the package; replaced when it is built. */
declare const __PACKAGE_VERSION__: string | undefined;
const version = typeof __PACKAGE_VERSION__ === "string" ? __PACKAGE_VERSION__ : "0.0.0-development";

/** Options of {@link createHub}. */
export interface HubOptions {
  /** File that the configuration comes from, which `reload()` reads again. */
  file?: string | undefined;
  /**
   * Called before the hub reads `file`, or a file of `mcpConfig` that it could not read before, again. If it rejects,
   * nothing changes, and `reload()` rejects with its error. @default both are always read
   */
  beforeReload?: (() => Promise<void>) | undefined;
  /** Folder that relative paths of the configuration start from. @default the working directory of this process */
  folder?: string | undefined;
  /** Variables that the configuration may use. @default the environment of this process */
  environment?: Environment | undefined;
  /**
   * Whether the hub listens as `serve` of the configuration describes. An object makes it listen in any case, and its
   * fields replace those of `serve`, also after a reload. @default true
   */
  listen?: boolean | HubServeConfig | undefined;
  /** Called once, when the hub listens and before its sources start. */
  onStart?: ((hub: Hub) => void) | undefined;
  /** Loads modules again when they change, and sends the messages of unexpected errors to callers. @default false */
  dev?: boolean | undefined;
  /**
   * Maximum time in ms that `createHub` and `reload` wait until every source is ready or has failed once. Later ones
   * continue to connect. 0 does not wait. @default 10,000
   */
  startTimeout?: number | undefined;
  /** Delay in ms before a failed source is tried again: `first`, and then twice as long each time up to `max`. @default 1,000 to 60,000 */
  retry?: { first: number; max: number } | undefined;
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

/**
 * Starts a hub: connects to all sources of a configuration and, with `serve`, listens for calls. A source that fails never
 * stops the hub: it is tried again until the hub is closed. Without `access`, callers need the token that the hub creates.
 * Rejects if the configuration is invalid or if it cannot listen; then nothing is left open.
 */
export async function createHub(config: HubConfig, options: HubOptions = {}): Promise<Hub> {
  return Hub.start(resolveServed(config, options), options);
}

/** A running hub: the operations of all its sources in one registry, which it serves as configured. */
export class Hub implements AsyncDisposable {
  /** The operations of all sources, and those that manage the hub. */
  readonly registry: OperationRegistry;
  readonly #host: SourceHost;
  readonly #options: HubOptions;
  readonly #startTimeout: number;
  readonly #access: HubAccess;
  #history: History | undefined = undefined;
  readonly #states = new Emitter<SourceState>((error) => log.error("A listener failed: {error}", { error }));
  #config: ResolvedConfig;
  /** The rules for the operations of the hub itself. */
  #restrict: Restrict;
  #management: Follower | undefined = undefined;
  /** By name, in the order of the configuration. */
  #sources = new Map<string, HubSource>();
  #listener: Listener | undefined = undefined;
  readonly #startedAt = Date.now();
  readonly #consoleFolder = findConsole();
  /** Whether all sources have ended their first attempt, or had the time for it. */
  #isStarted = false;
  /** Resolves when no change of the sources is running or waiting. */
  #reloading: Promise<unknown> = Promise.resolve();
  #closed: Promise<void> | undefined = undefined;

  private constructor(config: ResolvedConfig, options: HubOptions) {
    const { log: isLogging = true, retry = { first: 1_000, max: 60_000 }, environment, file } = options;
    this.#config = config;
    this.#options = options;
    this.#startTimeout = resolveDuration("startTimeout", options.startTimeout, 10_000, { zero: true, infinite: true });
    this.registry = new OperationRegistry({ log: isLogging });
    this.#host = {
      registry: this.registry,
      running: new RunningCalls(this.registry),
      drainTimeout: resolveDuration("closeTimeout", options.closeTimeout, 10_000, { zero: true }),
      retry,
      isLogging,
      watchesModules: options.dev === true,
      environment: environment ?? process.env,
      file: file !== undefined && existsSync(file) ? realpathSync(file) : file,
      url: () => this.url,
      onState: (state) => this.#states.emit(state),
      onReadable: () => {
        this.#enqueue(async () => {
          await options.beforeReload?.();
          await this.#apply(await planSources(this.#config, this.#host));
        }).catch((error) => log.error("The sources could not be changed: {error}", { error }));
      },
    };
    this.#restrict = compileRules(config.rules);
    this.#access = new HubAccess(config.access, environment && { ...environment });
  }

  /** @internal */
  static async start(config: ResolvedConfig, options: HubOptions): Promise<Hub> {
    const hub = new Hub(config, options);
    try {
      const plans = await planSources(config, hub.#host);
      hub.#history = await openHistory(hub.registry, config.history, {
        ignored: unrecordedOperations,
        sourceOf: (id) => hub.sourceOf(id),
      });
      await hub.#followManagement(hub.#history);
      await hub.#listen();
      options.onStart?.(hub);
      await hub.#apply(plans);
      hub.#isStarted = true;
      return hub;
    } catch (error) {
      await hub.close();
      throw error;
    }
  }

  /** The address at which it listens, such as `http://127.0.0.1:4000`. `undefined` if it does not listen. */
  get url(): string | undefined {
    return this.#listener?.url;
  }

  /**
   * Creates a link that signs the operator in to the console, once and within five minutes. `undefined` if the hub serves no
   * console, or if its configuration has `access`: then `operations console` creates a link for the owner of a token.
   */
  createConsoleLink(): string | undefined {
    const code = this.#hasConsole ? this.#access.createCode() : undefined;
    return code === undefined ? undefined : `${this.url}/console/#code=${code}`;
  }

  /** The token that the hub created, because its configuration has no `access`. Do not log it. */
  get token(): string | undefined {
    return this.#access.token;
  }

  /** The current states of all sources, in the order of the configuration. */
  sources(): SourceState[] {
    return Array.from(this.#sources.values(), ({ state }) => state);
  }

  /** Returns the name of the source of an operation; `undefined` for an operation of the hub itself. */
  sourceOf(operationId: string): string | undefined {
    for (const source of this.#sources.values()) if (source.has(operationId)) return source.plan.name;
    return undefined;
  }

  /** The configuration that is applied now. @internal */
  get config(): ResolvedConfig {
    return this.#config;
  }

  /** Describes where an operation is from, what its callers need and what models see. @internal */
  describe(operationId: string) {
    const source = [...this.#sources.values()].find((one) => one.has(operationId));
    return describeOperation(operationId, { registry: this.registry, config: this.#config, source });
  }

  /** Describes the hub. Paths of this machine are only for administrators. @internal */
  about(isAdmin: boolean) {
    const { serve = {}, history = {} } = this.#config;
    const doors = (["http", "mcp", "websocket"] as const).filter((door) => serve[door] !== false);
    const { file, keep, payloads = [] } = history;
    return {
      version,
      startedAt: this.#startedAt,
      dev: this.#options.dev === true,
      doors: this.url === undefined ? [] : doors,
      ...(this.url !== undefined && { url: this.url }),
      ...(isAdmin && this.#host.file !== undefined && { config: this.#host.file }),
      history: {
        ...(isAdmin && file !== undefined && { file }),
        ...(keep !== undefined && { keep }),
        payloads: [...payloads],
      },
    };
  }

  /**
   * Tries a source again without waiting for its next attempt. Returns whether it was waiting; `undefined` if there is no
   * source with this name.
   */
  retry(source: string): boolean | undefined {
    return this.#sources.get(source)?.retry();
  }

  /** Calls `listener` with the new state of a source whenever it changes. */
  onSourceChange(listener: (state: SourceState) => void): Unsubscribe {
    return this.#states.on(listener);
  }

  /**
   * Applies another configuration, or reads the file again. Only sources whose configuration differs are restarted, after
   * their running calls have ended; calls of other sources are not affected. Modules whose files have changed are loaded again. Rejects with `VALIDATION_ERROR` and changes
   * nothing if the configuration is invalid, or if `serve` differs, which needs a new hub.
   */
  reload(config?: HubConfig): Promise<ReloadSummary> {
    return this.#enqueue(() => this.#reload(config));
  }

  /** Stops listening, lets running calls end, and closes all sources. May be called more than once. */
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

  /** Follows the operations of the hub itself. Their source knows which operations may appear soon. */
  async #followManagement(history: History): Promise<void> {
    const source: OperationSource = {
      name: "hub",
      load: async () => [...managementOperations(this, history), ...consoleOperations(this, history)],
      traits: { mayHave: (id) => Array.from(this.#sources.values()).some((one) => one.mayHave(id)) },
      close: async () => {},
    };
    const hooks: FollowHooks = { restrict: (spec, ids) => this.#restrict(spec, ids) };
    this.#management = await coreOf(this.registry).follow(source, { namespace: "hub" }, hooks);
  }

  async #listen(): Promise<void> {
    const { serve } = this.#config;
    if (serve === undefined || this.#options.listen === false) return;
    const { host, port = 4_000 } = serve;
    this.#listener = await listen(this.#createServers(serve), {
      ...(host !== undefined && { host }),
      port,
      closeTimeout: this.#host.drainTimeout,
      health: () => this.#isStarted,
    });
    await this.#access.announce(this.#listener.url);
  }

  #createServers({ http = true, mcp = true, websocket = true }: HubServeConfig) {
    const options = { authenticate: this.#access, exposeErrors: this.#options.dev === true };
    const servers: Record<string, FetchServer | UpgradeHandler> = {};
    if (http) servers["/"] = serveHTTP(this.registry, options);
    if (mcp) servers["/mcp"] = serveMCP(this.registry, { ...options, exclude: ownOperations });
    if (websocket) servers["/calls"] = serveWebSocket(this.registry, options);
    if (this.#hasConsole) {
      const { authenticate, sessions } = this.#access;
      servers["/console"] = new ConsoleServer({
        folder: this.#consoleFolder,
        sessions,
        authenticate,
        isLocal: this.#isLocal,
      });
    }
    return servers;
  }

  /** Whether only this machine can reach the hub. */
  get #isLocal(): boolean {
    return isLoopbackHost(this.#config.serve?.host ?? "127.0.0.1");
  }

  get #hasConsole(): boolean {
    const { http, console = this.#isLocal && this.#consoleFolder !== undefined } = this.#config.serve ?? {};
    return http !== false && console;
  }

  /** Runs changes of the sources one after the other. */
  #enqueue<T>(change: () => Promise<T>): Promise<T> {
    const changing = this.#reloading.then(change);
    this.#reloading = changing.catch(() => {});
    return changing;
  }

  async #reload(given: HubConfig | undefined): Promise<ReloadSummary> {
    const { file = "", environment } = this.#options;
    if (given === undefined && file === "") {
      throw invalid("The hub was not started with a file. Pass the configuration to reload().");
    }
    if (given === undefined) await this.#options.beforeReload?.();
    const config = resolveServed(given ?? (await loadConfig(file, { environment })).config, this.#options);
    const plans = await planSources(config, this.#host);
    if (this.#closed !== undefined) throw new CallError("UNAVAILABLE", "The hub is closed.");
    if (!isDeepStrictEqual(config.serve, this.#config.serve)) {
      throw invalid('"serve" differs from that of the running hub. Restart the hub to change it. Nothing was changed.');
    }
    await this.#history!.configure(config.history);
    await this.#access.update(config.access);
    this.#config = config;
    this.#restrict = compileRules(config.rules);
    this.#management!.refresh();
    return this.#apply(plans);
  }

  /** Closes the sources that are not planned any more, starts new ones, and waits for their first attempts. */
  async #apply(plans: readonly SourcePlan[]): Promise<ReloadSummary> {
    const rulesOf = compileSourceRules(this.#config.rules);
    const before = this.#sources;
    const after = new Map<string, HubSource>();
    const summary: ReloadSummary = { added: [], restarted: [], removed: [] };
    const reading: Promise<void>[] = [];
    for (const plan of plans) {
      const known = before.get(plan.name);
      if (known !== undefined && isDeepStrictEqual(known.plan.config, plan.config)) {
        known.setRules(rulesOf(plan));
        reading.push(known.reload());
        after.set(plan.name, known);
      } else {
        summary[known === undefined ? "added" : "restarted"].push(plan.name);
        after.set(plan.name, new HubSource(plan, this.#host, rulesOf(plan), known));
      }
    }
    summary.removed.push(...[...before.keys()].filter((name) => !after.has(name)));
    this.#sources = after;
    const changed = new Set([...summary.restarted, ...summary.removed]);
    const onFailure = (error: unknown) => log.warn("A source could not be closed: {error}", { error });
    await Promise.all(Array.from(changed, (name) => before.get(name)!.close().catch(onFailure)));
    if (this.#closed !== undefined) return summary;
    const attempts = [...summary.added, ...summary.restarted].map((name) => after.get(name)!.start());
    if (this.#startTimeout > 0) await settlesWithin(this.#startTimeout, Promise.all([...attempts, ...reading]));
    return summary;
  }
}

/** Resolves a configuration together with the fields of `serve` that the options replace. */
function resolveServed(config: HubConfig, options: HubOptions): ResolvedConfig {
  const { listen } = options;
  const served = typeof listen === "object" ? { ...config, serve: { ...config.serve, ...listen } } : config;
  return resolveConfig(served, options);
}
