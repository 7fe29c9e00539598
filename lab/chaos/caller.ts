import { isCallError, PendingRequestMap, type Transport } from "@alkdev/operations";
import { now, type Recorder } from "../../test/history/index.ts";
import { watchLoop } from "./instruments.ts";
import { closeTimeout } from "./settings.ts";
import { within } from "./within.ts";

/** One call, as the load wants it. */
export interface Wish {
  operation: string;
  input: { call?: string; ms?: number; values?: number; text?: string };
  /** Milliseconds until the deadline. Calls without one get the library's default. */
  timeout?: number;
  token?: string;
  identity?: { id: string; scopes: string[] };
  isDenied?: boolean;
  /** Gives up after so many milliseconds. */
  abortAfter?: number;
}

/** How a subscription is consumed. */
export interface StreamWish extends Wish {
  /** Leaves after so many values. */
  leaveAfter?: number;
  /** Milliseconds between taking two values. */
  pace?: number;
}

/** What a map does for calls without a deadline, in ms. */
const defaultTimeout = 30_000;

/** A peer that makes calls, and records them with their outcomes. */
export class Caller {
  readonly name: string;
  readonly #transport: string;
  readonly #recorder: Recorder;
  readonly #map: PendingRequestMap;
  readonly #stopWatching: () => void;
  #count = 0;

  constructor(name: string, transportName: string, transport: Transport, recorder: Recorder) {
    this.name = name;
    this.#transport = transportName;
    this.#recorder = recorder;
    this.#map = new PendingRequestMap(transport);
    this.#stopWatching = watchLoop(recorder);
  }

  get pending(): number {
    return this.#map.pendingCount;
  }

  /** Calls, and resolves when the call has settled, with whether it succeeded. */
  async call(wish: Wish): Promise<boolean> {
    const { call, options, done } = this.#ask(wish);
    try {
      const { data } = await this.#map.call(wish.operation, { ...wish.input, call }, options);
      done();
      this.#recorder.record({ kind: "settled", call, outcome: "answered", answer: readAnswer(data, wish) });
      return true;
    } catch (error) {
      done();
      this.#fail(call, error);
      return false;
    }
  }

  /** Subscribes, and resolves when that has ended. */
  async subscribe(wish: StreamWish): Promise<void> {
    const { call, options, done } = this.#ask(wish);
    const { leaveAfter = Number.POSITIVE_INFINITY, pace = 0 } = wish;
    let count = 0;
    try {
      const values = this.#map.subscribe<{ call: string; value: number }>(
        wish.operation,
        { ...wish.input, call },
        { ...options, idleTimeout: 3_000 },
      );
      for await (const { data } of values) {
        this.#recorder.record({ kind: "received", call, value: data.call === call ? data.value : Number.NaN });
        if (++count >= leaveAfter) break;
        if (pace > 0) await new Promise((resolve) => setTimeout(resolve, pace));
      }
      done();
      this.#recorder.record({ kind: "settled", call, outcome: count >= leaveAfter ? "left" : "completed" });
    } catch (error) {
      done();
      this.#fail(call, error);
    }
  }

  /** Closes the map. What is pending must fail, and nothing may be left. */
  async close(): Promise<void> {
    const left: string[] = [];
    await within(closeTimeout, this.#map.close()).catch((error) => left.push(`close(): ${error}`));
    if (this.pending > 0) left.push(`${this.pending} pending calls`);
    this.#stopWatching();
    this.#recorder.record({ kind: "closed", who: this.name, left });
  }

  /** Records a call and returns its arguments. */
  #ask({ operation, input, timeout, isDenied, token, identity, abortAfter }: Wish) {
    const call = `${this.name}#${++this.#count}`;
    const isStream = input.values !== undefined;
    const time = timeout ?? (isStream ? undefined : defaultTimeout);
    // Both clocks are read together: a machine that is busy may do something else between any two lines.
    const [at, wallTime] = [now(), Date.now()];
    this.#recorder.record({
      ...{ kind: "asked", call, operation, transport: this.#transport },
      ...(time === undefined ? {} : { deadline: at + time }),
      ...(operation === "chaos.again" ? { isIdempotent: true } : {}),
      ...(isDenied === true ? { isDenied } : {}),
      ...(isStream ? { values: input.values } : {}),
    });
    const giveUp = this.#giveUpAfter(call, abortAfter);
    const options = {
      ...(timeout === undefined ? {} : { deadline: wallTime + timeout }),
      ...(abortAfter === undefined ? {} : { signal: giveUp.signal }),
      ...(token === undefined ? {} : { token }),
      ...(identity === undefined ? {} : { identity }),
    };
    return { call, options, done: giveUp.cancel };
  }

  #giveUpAfter(call: string, milliseconds: number | undefined): { signal: AbortSignal; cancel(): void } {
    const controller = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    if (milliseconds !== undefined) {
      timer = setTimeout(() => {
        controller.abort();
        this.#recorder.record({ kind: "aborted", call });
      }, milliseconds);
    }
    return { signal: controller.signal, cancel: () => clearTimeout(timer) };
  }

  #fail(call: string, error: unknown): void {
    if (!isCallError(error)) {
      this.#recorder.record({ kind: "rejected", message: `${call} failed with something else: ${error}` });
    }
    const { code = "?", message = "", retryable, mayHaveRun } = isCallError(error) ? error : {};
    this.#recorder.record({ kind: "settled", call, outcome: "failed", code, message, retryable, mayHaveRun });
  }
}

/** The request that the reply names, with a remark if the rest differs from what was sent. */
function readAnswer(data: unknown, { input }: Wish): string {
  const { call, text } = data as { call: string; text?: string };
  return text === input.text || input.text === undefined ? call : `${call}, with another text`;
}
