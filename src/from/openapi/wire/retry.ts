import { startTimer } from "../../../internal/timers.ts";
import type { CallError } from "../../../operation/index.ts";
import type { HTTPRetry } from "../config.ts";

/** Keeps retries of one service under a tenth of its calls when everything fails. */
export class RetryBudget {
  #tokens = 10;

  /** Takes one retry out, if there is one. */
  take(): boolean {
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** A call went well. */
  refill(): void {
    this.#tokens = Math.min(10, this.#tokens + 0.1);
  }
}

/** The wait before the next try in ms, or `undefined` when `Retry-After` asks for more than `maxDelay`. */
export function retryDelay(error: CallError, attempt: number, settings: HTTPRetry): number | undefined {
  const { delay = 100, maxDelay = 30_000 } = settings;
  const own = withJitter(Math.min(maxDelay, delay * 2 ** attempt));
  const asked = retryAfter(error) ?? 0;
  // A server can ask for more time, not for less: `Retry-After: 0` would turn every retry into one more burst.
  return asked <= maxDelay ? Math.max(asked, own) : undefined;
}

/** Moves a delay by up to a fifth, so that callers that failed together do not come back together. */
export function withJitter(delay: number): number {
  return delay * (0.8 + Math.random() * 0.4);
}

/** What the server asked for, as seconds or as a date. */
function retryAfter(error: CallError): number | undefined {
  const headers = (error.details as { headers?: Record<string, string> } | undefined)?.headers;
  const value = headers?.["retry-after"]?.trim();
  if (value === undefined || value === "") return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** Waits, or rejects as soon as the signal fires. Leaves neither timer nor listener. */
export function pause(delay: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      timer.stop();
      reject(signal?.reason);
    };
    const timer = startTimer(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, delay);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
