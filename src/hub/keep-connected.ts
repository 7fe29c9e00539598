import { BackOff, type BackOffRange } from "../internal/back-off.ts";
import { pause } from "../internal/wait.ts";

/**
 * Status of a connection. It is `connecting` until its first attempt has ended, and `ready` while it is connected. While it
 * is `retrying`, the reason is temporary. While it has `failed`, the reason remains until a person fixes it. Both are tried
 * again until it is `closed`.
 */
export type ConnectionStatus = "connecting" | "ready" | "retrying" | "failed" | "closed";

/** State of a connection. */
export interface ConnectionState {
  /** Its status. */
  readonly status: ConnectionStatus;
  /** When it entered this status, in milliseconds since the epoch. */
  readonly since: number;
  /** Why it is not ready. */
  readonly reason?: string;
  /** When the next attempt starts, in milliseconds since the epoch. Absent while an attempt is running. */
  readonly nextAttempt?: number;
}

/** What an attempt connected. */
export interface Connection {
  /**
   * Calls `report` with the problem when the connection is interrupted, and without one when it is back. With `isLost`, it
   * does not come back automatically, and another attempt is made.
   */
  watch?(report: (problem?: unknown, isLost?: boolean) => void): void;
}

/** How a connection is made and observed. */
export interface KeepConnectedOptions {
  /** Connects, or connects again what was lost. */
  attempt(signal: AbortSignal): Promise<Connection>;
  /** Delays between failed attempts. */
  retry: BackOffRange;
  /** Returns the reason of a problem for people, and whether it may end without them. */
  explain(problem: unknown): { reason: string; isTemporary: boolean };
  /** Receives every new state, and the one before. */
  onChange(state: ConnectionState, before: ConnectionState): void;
}

/** Connects, and connects again after every failure with increasing delays, until it is closed. */
export class KeptConnection {
  readonly #options: KeepConnectedOptions;
  readonly #closing = new AbortController();
  #endFirstAttempt = () => {};
  readonly #firstAttempt = new Promise<void>((resolve) => {
    this.#endFirstAttempt = resolve;
  });
  #state: ConnectionState = { status: "connecting", since: Date.now() };
  #current: Connection | undefined = undefined;
  #running: Promise<void> | undefined = undefined;
  #onLost: (problem?: unknown) => void = () => {};
  /** Present during a pause. */
  #skipPause: (() => void) | undefined = undefined;

  constructor(options: KeepConnectedOptions) {
    this.#options = options;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Starts to connect. Resolves when the first attempt has ended, whether it succeeded or not. */
  start(): Promise<void> {
    this.#running = this.#run();
    return this.#firstAttempt;
  }

  /** Ends the pause before the next attempt. Returns whether there was one. */
  retry(): boolean {
    const isWaiting = this.#skipPause !== undefined;
    this.#skipPause?.();
    return isWaiting;
  }

  /** Cancels a running attempt and makes no further ones. Resolves when it has ended. What was connected stays open. */
  async close(reason?: unknown): Promise<void> {
    this.#set("closed");
    this.#closing.abort(reason);
    this.#endFirstAttempt();
    this.#onLost();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { attempt, explain, retry } = this.#options;
    const { signal } = this.#closing;
    const backOff = new BackOff(retry);
    while (!signal.aborted) {
      const lost = new Promise<unknown>((resolve) => {
        this.#onLost = resolve;
      });
      let problem: unknown;
      try {
        if (this.#state.status !== "ready") this.#follow(await attempt(signal));
        const since = performance.now();
        this.#endFirstAttempt();
        problem = await lost;
        // A connection that is lost soon after it was made is tried less and less often.
        if (performance.now() - since >= retry.max) backOff.reset();
      } catch (error) {
        problem = error;
      }
      if (signal.aborted) return;
      const { reason, isTemporary } = explain(problem);
      const delay = backOff.next();
      const nextAttempt = Date.now() + Math.ceil(delay);
      this.#set(isTemporary ? "retrying" : "failed", { reason, nextAttempt });
      this.#endFirstAttempt();
      await this.#pause(delay);
      const { status } = this.#state;
      if (status !== "ready") this.#set(status, { reason });
    }
  }

  #follow(connection: Connection): void {
    this.#set("ready");
    if (connection === this.#current) return;
    this.#current = connection;
    connection.watch?.((problem, isLost = false) => {
      if (connection !== this.#current) return;
      if (problem === undefined) return this.#set("ready");
      this.#set("retrying", { reason: this.#options.explain(problem).reason });
      if (isLost) this.#onLost(problem);
    });
  }

  async #pause(delay: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#skipPause = resolve;
      pause(delay, this.#closing.signal).then(resolve, resolve);
    });
    this.#skipPause = undefined;
  }

  #set(status: ConnectionStatus, details: Pick<ConnectionState, "reason" | "nextAttempt"> = {}): void {
    const before = this.#state;
    if (before.status === "closed") return;
    this.#state = { status, since: status === before.status ? before.since : Date.now(), ...details };
    this.#options.onChange(this.#state, before);
  }
}
