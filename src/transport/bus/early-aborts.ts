/** More are not remembered: who aborts is told to every worker, and most of them never see the request. */
const memory = 10_000;

/** Aborts that came before their requests, or whose requests went to another worker. */
export class EarlyAborts {
  readonly #keys = new Set<string>();

  add(from: string, requestId: string, attempt: number): void {
    if (this.#keys.size >= memory) this.#keys.delete(this.#keys.values().next().value!);
    this.#keys.add(`${from} ${attempt} ${requestId}`);
  }

  /** True when the request was aborted before it came. */
  delete(from: string, requestId: string, attempt: number): boolean {
    return this.#keys.size > 0 && this.#keys.delete(`${from} ${attempt} ${requestId}`);
  }
}
