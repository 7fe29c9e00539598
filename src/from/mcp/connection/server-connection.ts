import { Emitter } from "../../../internal/emitter.ts";
import { logger } from "../../../internal/log.ts";
import { quote } from "../../../internal/text.ts";
import { maxTimerDelay } from "../../../internal/timers.ts";
import { allowManyListeners, onAbort, pause, waitFor } from "../../../internal/wait.ts";
import { type CallError, isCallError } from "../../../operation/index.ts";
import type { Unsubscribe } from "../../source.ts";
import type { MCPClientConfig } from "../config.ts";
import { ChangeWatch } from "./change-watch.ts";
import type {
  MCPConnection,
  MCPRequestOptions,
  MCPServerState,
  MCPTool,
  MCPToolCall,
  MCPToolResult,
} from "./connection.ts";
import { connectionLost, serverError, serverFailed, toConnectionError } from "./connection-errors.ts";
import { readToolPages, toListError } from "./list-tools.ts";
import { openSession } from "./open-session.ts";
import { withStderr } from "./program-output.ts";
import { RestartBudget } from "./restart-budget.ts";
import type { MCPSession } from "./session.ts";
import { assertReachable, type ConnectionSettings, resolveSettings } from "./settings.ts";

const log = logger("from", "mcp");

/** Error code of servers of 2026-07-28 for headers that do not match the body. */
const headerMismatch = -32020;
/** How long calls share a list that was read after a header mismatch, in ms. */
const relistIntervalMs = 1_000;

/** Sends a request in a session. */
type Send = (session: MCPSession, options: { signal?: AbortSignal; timeout: number }) => Promise<unknown>;

/**
 * Starts a server or connects to it, and resolves when it is ready. Rejects with a `CallError` whose `details.stderr`
 * has the last lines that the program wrote. No process is left running after a rejection.
 */
export async function openConnection(
  name: string,
  config: MCPClientConfig,
  { signal }: { signal?: AbortSignal } = {},
): Promise<MCPConnection> {
  assertReachable(name, config);
  const connection = new MCPServerConnection(await resolveSettings(name, config));
  const abort = () => void connection.close();
  const stopListening = onAbort(signal, abort);
  try {
    if (signal?.aborted) abort();
    await connection.start();
  } finally {
    stopListening();
  }
  return connection;
}

/** A connection that opens another session whenever one is lost, within its restart budget. */
class MCPServerConnection implements MCPConnection {
  readonly name: string;
  readonly #label: string;
  readonly #settings: ConnectionSettings;
  readonly #isProgram: boolean;
  readonly #budget: RestartBudget | undefined;
  readonly #states = new Emitter<MCPServerState>(logListenerError);
  readonly #changes = new Emitter<void>(logListenerError);
  readonly #watch: ChangeWatch;
  readonly #closing = new AbortController();
  #state: Omit<MCPServerState, "stderr"> = { status: "starting", restarts: 0 };
  #session: MCPSession | undefined;
  /** Resolves to the session that is being opened. */
  #opening: Promise<MCPSession> | undefined;
  #closed: Promise<void> | undefined;
  #relisted: { at: number; tools: Promise<MCPTool[]> } | undefined;
  /** Sessions that were lost and are not closed yet. */
  readonly #leaving = new Set<{ session: MCPSession; gone: Promise<void> }>();

  constructor(settings: ConnectionSettings) {
    const { restart = true, command } = settings.config;
    this.name = settings.name;
    this.#label = `the MCP server ${quote(settings.name)}`;
    this.#settings = settings;
    this.#isProgram = command !== undefined;
    this.#budget = restart === false ? undefined : new RestartBudget(restart === true ? {} : restart);
    this.#watch = new ChangeWatch(() => this.#changes.emit());
  }

  get state(): MCPServerState {
    const { stderr, ignoredResponses } = this.#settings;
    return { ...this.#state, stderr: stderr.lines, ...(ignoredResponses > 0 && { ignoredResponses }) };
  }

  /** Opens the first session. If it rejects, no process is left running. */
  async start(): Promise<void> {
    try {
      await this.#open();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async listTools(options: { signal?: AbortSignal } = {}): Promise<MCPTool[]> {
    try {
      return await this.#readTools(options);
    } catch (error) {
      throw withStderr(toListError(error, this.name), this.#settings.stderr.lines);
    }
  }

  #readTools(options: { signal?: AbortSignal }): Promise<MCPTool[]> {
    return readToolPages(this.#settings, (cursor) =>
      this.#send("the request for its tools", options, async (session, requestOptions) => {
        if (session.describe().capabilities?.["tools"] === undefined) return { tools: [] };
        return session.request("tools/list", cursor === undefined ? {} : { cursor }, requestOptions);
      }),
    );
  }

  async callTool(params: MCPToolCall, options: MCPRequestOptions & { tool: MCPTool }): Promise<MCPToolResult> {
    try {
      return await this.#callTool(params, options.tool, options);
    } catch (error) {
      if ((error as { code?: unknown }).code !== headerMismatch) throw error;
      // The server changed which arguments it expects as headers, and has not run the call.
      const tool = (await this.#relist()).find(({ name }) => name === params.name);
      if (tool === undefined) throw error;
      this.#watch.notify();
      return this.#callTool(params, tool, options);
    }
  }

  /** Reads the list of tools for calls whose headers did not match. Calls share it: a server may refuse all of them. */
  #relist(): Promise<MCPTool[]> {
    const now = performance.now();
    if (this.#relisted === undefined || now - this.#relisted.at > relistIntervalMs) {
      const tools = this.#readTools({}).catch((error) => Promise.reject(toListError(error, this.name)));
      this.#relisted = { at: now, tools };
    }
    return this.#relisted.tools;
  }

  #callTool(params: MCPToolCall, tool: MCPTool, options: MCPRequestOptions): Promise<MCPToolResult> {
    const { onprogress } = options;
    return this.#send(`the call of tool ${quote(params.name)}`, options, (session, requestOptions) =>
      session.callTool(params, tool, onprogress === undefined ? requestOptions : { ...requestOptions, onprogress }),
    ) as Promise<MCPToolResult>;
  }

  request(method: string, params: Record<string, unknown> = {}, options: MCPRequestOptions = {}): Promise<unknown> {
    const { onprogress } = options;
    return this.#send(`the request ${quote(method)}`, options, (session, requestOptions) =>
      session.request(method, params, onprogress === undefined ? requestOptions : { ...requestOptions, onprogress }),
    );
  }

  onToolsChanged(listener: () => void): Unsubscribe {
    return this.#changes.on(listener);
  }

  onStateChange(listener: (state: MCPServerState) => void): Unsubscribe {
    return this.#states.on(listener);
  }

  async reconnect(): Promise<void> {
    this.#assertOpen();
    this.#budget?.reset();
    const old = this.#session;
    this.#session = undefined;
    if (old !== undefined) await old.close();
    if (this.#opening === undefined) this.#replace({ immediately: true });
    await this.#opening;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    this.#watch.stop();
    const session = this.#session;
    this.#session = undefined;
    this.#setState({ status: "closed" });
    await session?.close();
    await this.#opening?.catch(() => {});
    await Promise.all(Array.from(this.#leaving, ({ session: old }) => old.close()));
  }

  /** Sends a request in the current session, and again in a new session if the server reports that it expired. */
  async #send(what: string, { signal, timeout }: MCPRequestOptions, send: Send): Promise<unknown> {
    const limits = { signal, timeout: timeout === undefined ? this.#settings.timeouts.request : toDelay(timeout) };
    if (signal?.aborted)
      throw this.#notSent("ABORTED", `The caller aborted ${what} before it was sent to ${this.#label}.`, signal.reason);
    if (limits.timeout === 0)
      throw this.#notSent("TIMEOUT", `The time limit expired before ${what} was sent to ${this.#label}.`);
    if (signal !== undefined) allowManyListeners(signal);
    const session = this.#session ?? (await this.#waitForSession(what, limits));
    try {
      return await send(session, limits);
    } catch (error) {
      if (!session.isExpiry(error)) throw this.#explain(error, what, session, limits);
    }
    const next = await this.#waitForSession(what, limits);
    try {
      return await send(next, limits);
    } catch (error) {
      throw this.#explain(error, what, next, limits);
    }
  }

  /** Waits for the next session, and subtracts the waiting time from the timeout. */
  async #waitForSession(what: string, limits: { signal?: AbortSignal; timeout: number }): Promise<MCPSession> {
    if (this.#session !== undefined) return this.#session;
    this.#assertOpen();
    this.#opening ??= this.#tryAgain();
    const start = performance.now();
    const session = await waitFor(this.#opening, limits, (code) =>
      this.#notSent(code, `The MCP server ${quote(this.name)} did not restart in time for ${what}.`),
    );
    limits.timeout = Math.max(1, limits.timeout - Math.ceil(performance.now() - start));
    return session;
  }

  /** Restarts a failed server for a call. A program is restarted only if its budget allows it. */
  #tryAgain(): Promise<MCPSession> {
    // A server that this process does not run may become available at any time.
    const wait = this.#isProgram ? this.#budget?.waitAt(performance.now()) : 0;
    if (wait === 0) return this.#replace({ immediately: !this.#isProgram });
    throw serverFailed(this.name, this.#state.error, wait);
  }

  async #open(): Promise<MCPSession> {
    const session = await openSession(
      this.#settings,
      { onLost: (lost) => this.#onLost(lost), onToolsChanged: () => this.#watch.notify() },
      this.#closing.signal,
    );
    await this.#watch.follow(session);
    if (session.isEnded)
      throw this.#lost(session, `The connection to ${this.#label} was lost as soon as it was ready.`);
    this.#session = session;
    this.#setState({ status: "ready", error: undefined, ...session.describe() });
    return session;
  }

  /** Replaces a lost session, whose requests have already failed. */
  #onLost(session: MCPSession): void {
    // Let pending requests of an expired session finish, because the server may still respond to them.
    const leaving = { session, gone: session.isExpired ? session.closeWhenIdle() : session.close() };
    this.#leaving.add(leaving);
    leaving.gone.finally(() => this.#leaving.delete(leaving));
    if (this.#session === session) this.#session = undefined;
    if (this.#closing.signal.aborted || this.#opening !== undefined) return;
    const expired = `The session with ${this.#label} expired.`;
    const error = this.#lost(session, session.isExpired ? expired : `The connection to ${this.#label} was lost.`);
    this.#state = { ...this.#state, error };
    this.#replace({ immediately: session.isExpired });
  }

  #lost({ programEnd }: MCPSession, message: string): CallError {
    const error = connectionLost({ name: this.name, programEnd }, message, { retryable: true, mayHaveRun: false });
    return withStderr(error, this.#settings.stderr.lines);
  }

  /** Opens sessions until one succeeds or the budget is used up. */
  #replace(options: { immediately: boolean }): Promise<MCPSession> {
    const opening = this.#reopen(options);
    this.#opening = opening;
    opening.then(
      () => {
        this.#opening = undefined;
        this.#changes.emit();
      },
      (error: CallError) => {
        this.#opening = undefined;
        if (this.#closing.signal.aborted) return;
        log.warn("The MCP server {name} has failed: {message}", { name: this.name, message: error.message });
      },
    );
    return opening;
  }

  /** With `immediately`, the first attempt ignores the budget. It is the only attempt for an HTTP server. */
  async #reopen({ immediately }: { immediately: boolean }): Promise<MCPSession> {
    for (let attempt = 0; ; attempt++) {
      const granted = this.#budget?.take(performance.now());
      const wait = immediately && attempt === 0 ? 0 : granted;
      if (wait === undefined) throw this.#fail();
      this.#setState({ status: "restarting", restarts: this.#state.restarts + 1 });
      // The old program must release its resources, such as a port, before the new one starts.
      if (this.#isProgram) await Promise.all(Array.from(this.#leaving, ({ gone }) => gone));
      if (wait > 0) await pause(wait, this.#closing.signal).catch(() => {});
      try {
        return await this.#open();
      } catch (error) {
        if (this.#closing.signal.aborted) throw error;
        this.#setState({ error: isCallError(error) ? error : undefined });
        const once = immediately && !this.#isProgram;
        if (once || (isCallError(error) && !error.retryable)) throw this.#fail();
      }
    }
  }

  #fail(): CallError {
    const error = this.#state.error ?? this.#notSent("UNAVAILABLE", `The connection to ${this.#label} was lost.`);
    this.#setState({ status: "failed", error });
    return error;
  }

  #setState(change: Partial<MCPServerState>): void {
    this.#state = { ...this.#state, ...change };
    this.#states.emit(this.state);
  }

  #assertOpen(): void {
    if (!this.#closing.signal.aborted) return;
    const message = `The connection to ${this.#label} was closed.`;
    throw serverError(this.name, "UNAVAILABLE", message, { retryable: false, mayHaveRun: false });
  }

  #explain(error: unknown, what: string, session: MCPSession, limits: { signal?: AbortSignal; timeout: number }) {
    const { sdk, name, secrets, config } = this.#settings;
    const { programEnd } = session;
    return toConnectionError(error, { sdk, name, url: config.url, secrets, what, programEnd, ...limits });
  }

  /** Creates the error of a request that was not sent. */
  #notSent(code: string, message: string, cause?: unknown): CallError {
    return serverError(this.name, code, message, { cause, retryable: code !== "ABORTED", mayHaveRun: false });
  }
}

/** Converts the remaining time of a request into a timer delay. `Infinity` becomes the maximum, `NaN` becomes 0. */
function toDelay(timeLeft: number): number {
  return Number.isNaN(timeLeft) ? 0 : Math.min(Math.max(Math.ceil(timeLeft), 0), maxTimerDelay);
}

function logListenerError(error: unknown): void {
  log.error("A listener of an MCP connection failed: {error}", { error });
}
