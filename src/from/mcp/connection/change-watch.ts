import type { Link } from "./link.ts";

/** Changes that come within this time are told as one, in ms. */
const togetherWithin = 50;
const firstDelay = 500;
const longestDelay = 30_000;
/** How long a new connection waits for the server to say that it will tell of changes, in ms. */
const patience = 1_000;

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

  /** Listens on a new link in the place of the one before. Resolves when it does, or when that takes long. */
  async follow(link: Link): Promise<void> {
    this.#link = link;
    clearTimeout(this.#waiting);
    const { protocol, capabilities } = link.describe();
    const tools = capabilities?.["tools"] as { listChanged?: boolean } | undefined;
    if (protocol?.era !== "modern" || !tools?.listChanged) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, patience);
      const listening = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#listen(link, firstDelay, listening).then(listening);
    });
  }

  stop(): void {
    this.#link = undefined;
    clearTimeout(this.#timer);
    clearTimeout(this.#waiting);
  }

  async #listen(link: Link, delay: number, onListening: () => void): Promise<void> {
    let next = Math.min(delay * 2, longestDelay);
    try {
      const subscription = await link.client.listen({ toolsListChanged: true });
      onListening();
      await subscription.closed;
      next = firstDelay;
    } catch (error) {
      if (isRefused(error)) return;
    }
    if (this.#link !== link || link.ended) return;
    // What changed while nobody listened was not told.
    const again = () => void this.#listen(link, next, () => this.changed());
    this.#waiting = setTimeout(again, delay);
    // Listening alone must not keep the process alive.
    if (typeof this.#waiting === "object") this.#waiting.unref();
  }
}

/** The server answered that it does not know subscriptions. */
function isRefused(error: unknown): boolean {
  const { code, status } = error as { code?: unknown; status?: unknown };
  return code === -32601 || code === -32602 || status === 404;
}
