import type { CallError } from "../../../operation/index.ts";
import type { HTTPBreaker } from "../config.ts";
import { unavailable } from "./errors.ts";

const downStatuses: ReadonlySet<unknown> = new Set([502, 503, 504]);

/** Leaves a service alone that keeps failing: calls fail at once until one that is let through goes well. */
export class CircuitBreaker {
  readonly #failures: number;
  readonly #cooldown: number;
  #count = 0;
  /** When the next call is let through, in ms since the epoch. */
  #opensUntil = 0;

  constructor({ failures = 5, cooldown = 10_000 }: HTTPBreaker) {
    this.#failures = failures;
    this.#cooldown = cooldown;
  }

  /** Throws while the service is left alone. After that one call at a time is let through. */
  admit(operationId: string): void {
    if (this.#count < this.#failures) return;
    const now = Date.now();
    if (now < this.#opensUntil) {
      const reason = "the service failed too often and is left alone for a while";
      throw unavailable(operationId, reason, { retryable: true, mayHaveRun: false });
    }
    this.#opensUntil = now + this.#cooldown;
  }

  /** The service answered. */
  succeeded(): void {
    this.#count = 0;
  }

  /** A call failed. An answer that is an error still shows that the service is there; an abort shows nothing. */
  failed(error: CallError): void {
    if (error.code === "ABORTED") return;
    const status = (error.details as { status?: unknown } | undefined)?.status;
    const isDown = error.code === "UNAVAILABLE" || error.code === "TIMEOUT" || downStatuses.has(status);
    if (!isDown) {
      this.#count = 0;
      return;
    }
    if (++this.#count >= this.#failures) this.#opensUntil = Date.now() + this.#cooldown;
  }
}
