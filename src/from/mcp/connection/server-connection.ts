import { allowManyListeners } from "../../../internal/abort-listeners.ts";
import { Emitter } from "../../../internal/emitter.ts";
import { logger } from "../../../internal/log.ts";
import { quote } from "../../../internal/text.ts";
import { CallError, isCallError, limitExceeded } from "../../../operation/index.ts";
import type { Unsubscribe } from "../../source.ts";
import { isObject } from "../values.ts";
import { ChangeWatch } from "./change-watch.ts";
import type { MCPConnection, MCPRequestOptions, RawResult, RawTool } from "./connection.ts";
import type { Link } from "./link.ts";
import { serverFailed, toLinkError, toListError, wentAway } from "./link-error.ts";
import { openLink } from "./open-link.ts";
import { withStderr } from "./program-end.ts";
import { RestartBudget } from "./restart-budget.ts";
import { type Setup, toTimeLeft } from "./setup.ts";
import type { MCPServerState } from "./state.ts";
import { waitFor } from "./wait-for.ts";

const log = logger("from", "mcp");

/** What servers of 2026-07-28 answer when headers and body do not agree. */
const headerMismatch = -32020;
/** How long a list that was read because of that is good for other calls, in ms. */
const relistInterval = 1_000;

type Asking = (link: Link, options: { signal?: AbortSignal; timeout: number }) => Promise<unknown>;

/** A connection that replaces its link whenever that is lost, within a budget. */
export class ServerConnection implements MCPConnection {
  readonly name: string;
  readonly #setup: Setup;
  readonly #budget: RestartBudget | undefined;
  readonly #states = new Emitter<MCPServerState>(failed);
  readonly #changes = new Emitter<void>(failed);
  readonly #watch: ChangeWatch;
  readonly #closing = new AbortController();
  #state: Omit<MCPServerState, "stderr"> = { status: "starting", restarts: 0 };
  #link: Link | undefined;
  /** The next link, while there is none. */
  #opening: Promise<Link> | undefined;
  #closed: Promise<void> | undefined;
  #relisted: { at: number; tools: Promise<RawTool[]> } | undefined;
  /** Links that were lost and are not gone yet. */
  readonly #leaving = new Set<{ link: Link; gone: Promise<void> }>();

  constructor(setup: Setup) {
    const { restart = true } = setup.config;
    this.name = setup.name;
    this.#setup = setup;
    this.#budget = restart === false ? undefined : new RestartBudget(restart === true ? {} : restart);
    this.#watch = new ChangeWatch(() => this.#changes.emit());
  }

  get state(): MCPServerState {
    const { lines, ignoredResponses } = this.#setup;
    return { ...this.#state, stderr: lines.lines, ...(ignoredResponses > 0 && { ignoredResponses }) };
  }

  /** Opens the first link. Rejects where that fails, and then nothing is left. */
  async start(): Promise<void> {
    try {
      await this.#open();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async listTools(options: { signal?: AbortSignal } = {}): Promise<RawTool[]> {
    try {
      return await this.#readTools(options);
    } catch (error) {
      throw withStderr(toListError(error, this), this.#setup.lines.lines);
    }
  }

  async #readTools(options: { signal?: AbortSignal }): Promise<RawTool[]> {
    const { pages, operations: most } = this.#setup.limits;
    const tools: RawTool[] = [];
    let cursor: unknown;
    for (let page = 0; page < pages; page++) {
      const what = "the list of tools";
      const result = await this.#ask(what, options, async (link, requestOptions) => {
        if (link.describe().capabilities?.["tools"] === undefined) return { tools: [] };
        return link.request("tools/list", cursor === undefined ? {} : { cursor }, requestOptions);
      });
      if (!isObject(result) || !Array.isArray(result["tools"])) throw this.#badList();
      for (const tool of result["tools"]) tools.push(isObject(tool) ? tool : {});
      if (tools.length > most) {
        throw limitExceeded(`MCP server ${quote(this.name)} has too many tools`, "operations", most);
      }
      cursor = result["nextCursor"];
      if (typeof cursor !== "string") return tools;
    }
    throw limitExceeded(`The list of tools of MCP server ${quote(this.name)} does not end`, "pages", pages);
  }

  async callTool(
    params: { name: string; arguments?: Record<string, unknown>; _meta?: Record<string, unknown> },
    options: MCPRequestOptions & { tool: RawTool },
  ): Promise<RawResult> {
    try {
      return await this.#callTool(params, options.tool, options);
    } catch (error) {
      if ((error as { code?: unknown }).code !== headerMismatch) throw error;
      // The server wants other arguments in headers than it said before, and has not run the call.
      const tool = (await this.#relist()).find(({ name }) => name === params.name);
      if (tool === undefined) throw error;
      this.#watch.changed();
      return this.#callTool(params, tool, options);
    }
  }

  /** The list of tools for calls whose headers did not agree. Calls share it, because a server can refuse every one. */
  #relist(): Promise<RawTool[]> {
    const now = performance.now();
    if (this.#relisted === undefined || now - this.#relisted.at > relistInterval) {
      const tools = this.#readTools({}).catch((error) => Promise.reject(toListError(error, this)));
      this.#relisted = { at: now, tools };
    }
    return this.#relisted.tools;
  }

  #callTool(
    params: { name: string; arguments?: Record<string, unknown>; _meta?: Record<string, unknown> },
    tool: RawTool,
    options: MCPRequestOptions,
  ): Promise<RawResult> {
    const { onprogress } = options;
    return this.#ask(`tool ${quote(params.name)}`, options, (link, requestOptions) =>
      link.callTool(params, tool, onprogress === undefined ? requestOptions : { ...requestOptions, onprogress }),
    ) as Promise<RawResult>;
  }

  request(method: string, params: Record<string, unknown> = {}, options: MCPRequestOptions = {}): Promise<unknown> {
    const { onprogress } = options;
    return this.#ask(quote(method), options, (link, requestOptions) =>
      link.request(method, params, onprogress === undefined ? requestOptions : { ...requestOptions, onprogress }),
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
    const old = this.#link;
    this.#link = undefined;
    if (old !== undefined) await old.close();
    if (this.#opening === undefined) this.#replace({ immediately: true });
    await this.#opening;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    this.#watch.stop();
    const link = this.#link;
    this.#link = undefined;
    this.#setState({ status: "closed" });
    await link?.close();
    await this.#opening?.catch(() => {});
    await Promise.all(Array.from(this.#leaving, ({ link: old }) => old.close()));
  }

  /** Runs one request on the present link, once more where the server had forgotten the session. */
  async #ask(what: string, options: MCPRequestOptions, ask: Asking): Promise<unknown> {
    const { signal } = options;
    const timeout = options.timeout === undefined ? this.#setup.timeouts.request : toTimeLeft(options.timeout);
    if (signal?.aborted) throw this.#error("ABORTED", `${what} was aborted before it was asked for`, signal.reason);
    if (timeout === 0) throw this.#error("TIMEOUT", `no time was left for ${what}`);
    if (signal !== undefined) allowManyListeners(signal);
    const requestOptions = { signal, timeout };
    const link = this.#link ?? (await this.#waitForLink(what, requestOptions));
    try {
      return await ask(link, requestOptions);
    } catch (error) {
      if (!link.isForgotten(error)) throw this.#explain(error, what, link, requestOptions);
    }
    const next = await this.#waitForLink(what, requestOptions);
    try {
      return await ask(next, requestOptions);
    } catch (error) {
      throw this.#explain(error, what, next, requestOptions);
    }
  }

  /** Waits for the next link, and takes that off the time that is left. */
  async #waitForLink(what: string, options: { signal?: AbortSignal; timeout: number }): Promise<Link> {
    if (this.#link !== undefined) return this.#link;
    this.#assertOpen();
    this.#opening ??= this.#tryAgain();
    const start = performance.now();
    const link = await waitFor(this.#opening, options, (code) =>
      this.#error(code, `${what} waited for it to come back`),
    );
    options.timeout = Math.max(1, options.timeout - Math.ceil(performance.now() - start));
    return link;
  }

  /** A call for a server that failed starts it again, a program no more often than its budget allows. */
  #tryAgain(): Promise<Link> {
    const isProgram = this.#setup.config.command !== undefined;
    // A server that is only reached, not run, may be back at any time.
    const wait = isProgram ? this.#budget?.waitAt(performance.now()) : 0;
    if (wait === 0) return this.#replace({ immediately: !isProgram });
    throw serverFailed(this.name, this.#state.error, wait);
  }

  async #open(): Promise<Link> {
    const link = await openLink(
      this.#setup,
      { onLost: (lost) => this.#lost(lost), onToolsChanged: () => this.#watch.changed() },
      this.#closing.signal,
    );
    await this.#watch.follow(link);
    if (link.ended) throw this.#gone(link, "it went away as soon as it was ready");
    this.#link = link;
    this.#setState({ status: "ready", error: undefined, ...link.describe() });
    return link;
  }

  /** A link ended by itself: its requests have failed already. */
  #lost(link: Link): void {
    this.#leave(link);
    if (this.#link === link) this.#link = undefined;
    if (this.#closing.signal.aborted || this.#opening !== undefined) return;
    const error = this.#gone(link, link.sessionLost ? "it forgot the session" : "it went away");
    this.#state = { ...this.#state, error };
    this.#replace({ immediately: link.sessionLost });
  }

  /** Requests of a forgotten session that are still being answered are let finish. */
  #leave(link: Link): void {
    const leaving = { link, gone: link.sessionLost ? link.closeWhenIdle() : link.close() };
    this.#leaving.add(leaving);
    leaving.gone.finally(() => this.#leaving.delete(leaving));
  }

  #gone(link: Link, message: string): CallError {
    const context = { name: this.name, end: link.programEnd };
    const error = wentAway(context, message, { retryable: true, mayHaveRun: false });
    return withStderr(error, this.#setup.lines.lines);
  }

  /** Opens links until one holds. */
  #replace(options: { immediately: boolean }): Promise<Link> {
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
        log.warn("MCP server {name} was given up: {message}", { name: this.name, message: error.message });
      },
    );
    return opening;
  }

  /** With `immediately` the first attempt needs no leave, and where nothing is run it is the only one. */
  async #reopen({ immediately }: { immediately: boolean }): Promise<Link> {
    for (let attempt = 0; ; attempt++) {
      const granted = this.#budget?.take(performance.now());
      const wait = immediately && attempt === 0 ? 0 : granted;
      if (wait === undefined) throw this.#giveUp();
      this.#setState({ status: "restarting", restarts: this.#state.restarts + 1 });
      // What the old one held, such as a port, must be free for the new one.
      if (this.#setup.config.command !== undefined) await Promise.all(Array.from(this.#leaving, ({ gone }) => gone));
      if (wait > 0) await pause(wait, this.#closing.signal);
      try {
        return await this.#open();
      } catch (error) {
        if (this.#closing.signal.aborted) throw error;
        this.#setState({ error: isCallError(error) ? error : undefined });
        const once = immediately && this.#setup.config.command === undefined;
        if (once || (isCallError(error) && !error.retryable)) throw this.#giveUp();
      }
    }
  }

  #giveUp(): CallError {
    const error = this.#state.error ?? this.#error("UNAVAILABLE", "it went away");
    this.#setState({ status: "failed", error });
    return error;
  }

  #setState(change: Partial<MCPServerState>): void {
    this.#state = { ...this.#state, ...change };
    this.#states.emit(this.state);
  }

  #assertOpen(): void {
    if (this.#closing.signal.aborted) throw this.#error("UNAVAILABLE", "its connection was closed", undefined, false);
  }

  #explain(error: unknown, what: string, link: Link, options: { signal?: AbortSignal; timeout: number }): unknown {
    const { sdk, name, secrets } = this.#setup;
    return toLinkError(error, { sdk, name, secrets, what, end: link.programEnd, ...options });
  }

  #badList(): CallError {
    return new CallError("BAD_RESPONSE", `MCP server ${quote(this.name)}: the list of tools is no list.`, {
      server: this.name,
    });
  }

  /** An error of a request that was never sent. */
  #error(code: string, message: string, cause?: unknown, retryable = code !== "ABORTED"): CallError {
    return new CallError(
      code,
      `MCP server ${quote(this.name)}: ${message}.`,
      { server: this.name },
      { cause, retryable, mayHaveRun: false },
    );
  }
}

function failed(error: unknown): void {
  log.error("A listener to an MCP connection failed: {error}", { error });
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done, { once: true });
  });
}
