import { isCallError, type PendingRequestMap } from "@alkdev/operations";
import {
  checkHistory,
  createMemoryRecorder,
  formatViolation,
  type HistoryEvent,
  now,
  promiseWithPatience,
} from "../history/index.ts";
import type { BrokerName } from "./brokers.ts";
import type { Said } from "./child.ts";
import type { Report } from "./operations.ts";

/** What a call without a deadline gets, in ms. */
const defaultTimeout = 30_000;

/** Factor for the time limits: these tests check what happens, not when. */
const patience = 10;

/** Records the calls of one test and what their handlers report, and reports which promise was broken. */
export class Ledger {
  readonly #transport: BrokerName;
  readonly #events: HistoryEvent[] = [];
  readonly #caller = createMemoryRecorder("caller", this.#events);

  constructor(transport: BrokerName) {
    this.#transport = transport;
  }

  /** Calls as `calls.call()` does. Within a test no operation is called twice with the same number. */
  async call(
    calls: PendingRequestMap,
    operation: string,
    n: number,
    options: { deadline?: number } = {},
  ): Promise<{ n: number; pid: number }> {
    const call = `${operation} ${n}`;
    const deadline = now() + (options.deadline === undefined ? defaultTimeout : options.deadline - Date.now());
    this.#caller.record({ kind: "asked", call, operation, transport: this.#transport, deadline });
    try {
      const { data } = await calls.call<{ n: number; pid: number }>(operation, { n }, options);
      this.#caller.record({ kind: "settled", call, outcome: "answered", answer: `${operation} ${data.n}` });
      return data;
    } catch (error) {
      const { code, mayHaveRun } = isCallError(error) ? error : { code: String(error), mayHaveRun: true };
      this.#caller.record({ kind: "settled", call, outcome: "failed", code, mayHaveRun });
      throw error;
    }
  }

  /** What the operations of a worker in this process report to. */
  reportOf(by: string): Report {
    const recorder = createMemoryRecorder(by, this.#events);
    return ({ kind, operation, n }) => recorder.record({ kind, call: `work.${operation} ${n}` });
  }

  /** Adds what a worker in another process has reported. The time is unknown: not before the request. */
  add(by: string, said: readonly Said[]): void {
    const asked = new Map(this.#events.flatMap((event) => (event.kind === "asked" ? [[event.call, event.at]] : [])));
    for (const { kind, operation, n } of said) {
      if (kind !== "started" && kind !== "stopped") continue;
      const call = `work.${operation} ${n}`;
      this.#events.push({ kind, call, by, at: asked.get(call) ?? now() });
    }
  }

  /** Records a fault, and returns the function that records its end. */
  noteFault(fault: string): () => void {
    const id = `${fault} ${this.#events.length}`;
    this.#caller.record({ kind: "injected", fault, transport: this.#transport, id });
    return () => this.#caller.record({ kind: "healed", transport: this.#transport, id });
  }

  noteKilled(who: string): void {
    this.#caller.record({ kind: "killed", who });
  }

  /** What was promised and did not hold, in words. */
  violations(): string[] {
    return checkHistory(this.#events, promiseWithPatience(patience)).map(formatViolation);
  }
}
