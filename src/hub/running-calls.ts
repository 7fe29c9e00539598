import { settlesWithin } from "../internal/wait.ts";
import type { OperationRegistry } from "../registry/index.ts";

/** Counts the running calls of a registry by operation, so that sources are closed after their calls have ended. */
export class RunningCalls {
  readonly #registry: OperationRegistry;
  /** Kept while the operation is registered: to add and remove an entry for each call takes several times as long. */
  readonly #counts = new Map<string, { running: number }>();

  constructor(registry: OperationRegistry) {
    this.#registry = registry;
    registry.on("call", ({ kind, operationId }) => {
      if (kind === "started") this.#onStart(operationId);
      else if (kind === "succeeded" || kind === "failed") this.#onEnd(operationId);
    });
  }

  /** Resolves when no call of the operations is running, or after `timeout` ms. */
  async drain(operationIds: readonly string[], timeout: number): Promise<void> {
    const isRunning = (id: string) => (this.#counts.get(id)?.running ?? 0) > 0;
    const running = operationIds.filter(isRunning);
    if (running.length === 0) return;
    let stop = () => {};
    const ended = new Promise<void>((resolve) => {
      // Listeners are called in the order in which they were added, so the counts are up to date.
      stop = this.#registry.on("call", () => {
        if (!running.some(isRunning)) resolve();
      });
    });
    await settlesWithin(timeout, ended);
    stop();
  }

  #onStart(operationId: string): void {
    const count = this.#counts.get(operationId);
    if (count === undefined) this.#counts.set(operationId, { running: 1 });
    else count.running += 1;
  }

  #onEnd(operationId: string): void {
    const count = this.#counts.get(operationId)!;
    count.running -= 1;
    // Callers choose the ids that they call.
    if (count.running === 0 && !this.#registry.has(operationId)) this.#counts.delete(operationId);
  }
}
