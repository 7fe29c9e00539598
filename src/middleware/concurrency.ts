import { assertObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { onAbort } from "../internal/wait.ts";
import { CallError, resolveCount } from "../operation/inside.ts";
import type { Middleware } from "../registry/index.ts";
import { runWithHooks } from "./call-hooks.ts";

/** Options of the concurrency middleware. */
export interface ConcurrencyOptions {
  /** Maximum number of calls that run at the same time, at least 1; `Infinity` for no limit. */
  limit: number;
  /**
   * Maximum number of waiting calls, 0 or more; further calls fail with `LIMIT_EXCEEDED`. `Infinity` for
   * no limit. @default 1,000
   */
  maxWaiting?: number;
}

/** Limits the number of calls that run at the same time. Further calls wait, and run in the order in which they arrived. */
export class ConcurrencyLimiter {
  readonly #limit: number;
  readonly #maxWaiting: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  /** @param path - Prefix of the options in error messages. */
  constructor(options: ConcurrencyOptions, path = "") {
    this.#limit = resolveCount(`${path}limit`, options.limit, 1, { min: 1, infinite: true, required: true });
    this.#maxWaiting = resolveCount(`${path}maxWaiting`, options.maxWaiting, 1_000, { min: 0, infinite: true });
  }

  /**
   * Returns `undefined` when the call may run now, otherwise a promise that resolves when it may run. The promise rejects
   * with the reason of the signal if that fires first. Call {@link release} when a call that was allowed has ended.
   * @throws CallError `LIMIT_EXCEEDED`, retryable and not run, when too many calls are waiting.
   */
  acquire(operationId: string, signal: AbortSignal | undefined): Promise<void> | undefined {
    if (this.#running < this.#limit) {
      this.#running += 1;
      return undefined;
    }
    if (this.#waiting.size >= this.#maxWaiting) throw tooManyWaiting(operationId, this.#limit, this.#maxWaiting);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const enter = () => {
        stopListening();
        resolve();
      };
      const stopListening = onAbort(signal, (reason) => {
        this.#waiting.delete(enter);
        reject(reason);
      });
      this.#waiting.add(enter);
    });
  }

  /** Frees the slot of a call that has ended for the next waiting call. */
  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

function tooManyWaiting(operationId: string, limit: number, maxWaiting: number): CallError {
  const message = `${quote(operationId)} was not called: ${limit} calls are running and ${maxWaiting} are waiting, which is the limit.`;
  return new CallError("LIMIT_EXCEEDED", message, { operationId }, { retryable: true, mayHaveRun: false });
}

/**
 * Middleware that limits how many calls of the operations it is used for run at the same time. A call frees its slot
 * when its handler has ended, which may be after the call was aborted; a subscription when it has ended or its consumer
 * has stopped reading. Nested calls share the slot of their parent call, which waits for them.
 */
export function concurrency(options: ConcurrencyOptions): Middleware {
  assertObject("concurrency", options, "concurrency({ limit: 10 })");
  const limiter = new ConcurrencyLimiter(options);
  /** Request ids of the running calls, with their own slot or that of their parent call. */
  const running = new Set<string>();
  return async (call, next) => {
    const { context, operationId, isNested } = call;
    const { requestId } = context;
    const hasPlace = isNested && running.has(context.parentRequestId!);
    if (!hasPlace) await limiter.acquire(operationId, context.abortable === false ? undefined : context.signal);
    running.add(requestId);
    const release = () => {
      running.delete(requestId);
      if (!hasPlace) limiter.release();
    };
    return runWithHooks(call, next, { onEnd: release, onLeave: release });
  };
}
