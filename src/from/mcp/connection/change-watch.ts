import type { Link } from "./link.ts";

/** Changes that come within this time are told as one, in ms. */
const togetherWithin = 50;
const firstDelay = 500;
const longestDelay = 30_000;

/**
 * Tells when the tools of a server may have changed. Servers of 2026-07-28 tell it on a stream that the client opens,
 * which is opened again whenever it ends; the others tell it unasked.
 */
export class ChangeWatch {
  readonly #onChange: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #link: Link | undefined;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** The server said that its tools changed. */
  changed(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#onChange();
    }, togetherWithin);
  }

  /** Listens on a new link in the place of the one before. */
  follow(link: Link): void {
    this.#link = link;
    clearTimeout(this.#waiting);
    const { protocol, capabilities } = link.describe();
    const tools = capabilities?.["tools"] as { listChanged?: boolean } | undefined;
    if (protocol?.era === "modern" && tools?.listChanged) void this.#listen(link, firstDelay);
  }

  stop(): void {
    this.#link = undefined;
    clearTimeout(this.#timer);
    clearTimeout(this.#waiting);
  }

  async #listen(link: Link, delay: number, again = false): Promise<void> {
    let next = Math.min(delay * 2, longestDelay);
    try {
      const subscription = await link.client.listen({ toolsListChanged: true });
      // What changed while nobody listened was not told.
      if (again) this.changed();
      await subscription.closed;
      next = firstDelay;
    } catch (error) {
      if (isRefused(error)) return;
    }
    if (this.#link !== link || link.ended) return;
    this.#waiting = setTimeout(() => void this.#listen(link, next, true), delay);
    // Listening alone must not keep the process alive.
    if (typeof this.#waiting === "object") this.#waiting.unref();
  }
}

/** The server answered that it does not know subscriptions. */
function isRefused(error: unknown): boolean {
  const { code, status } = error as { code?: unknown; status?: unknown };
  return code === -32601 || code === -32602 || status === 404;
}
