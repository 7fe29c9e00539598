import { BackOff } from "../../../internal/back-off.ts";
import { startTimer, type Timer } from "../../../internal/timers.ts";
import { settlesWithin } from "../../../internal/wait.ts";
import type { MCPSession } from "./session.ts";

/** Changes within this time are reported once, in ms. */
const debounceMs = 50;
/** Maximum wait of a new session until the server confirms the subscription, in ms. */
const maxConfirmationMs = 1_000;

/**
 * Reports when the tools of a server may have changed. Servers of 2026-07-28 send changes on a stream that the client
 * opens, and reopens whenever it ends. Older servers send notifications without a subscription.
 */
export class ChangeWatch {
  readonly #onChange: () => void;
  #pendingChange: Timer | undefined;
  #nextAttempt: Timer | undefined;
  #session: MCPSession | undefined;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Reports a change after {@link debounceMs}. */
  notify(): void {
    this.#pendingChange ??= startTimer(() => {
      this.#pendingChange = undefined;
      this.#onChange();
    }, debounceMs);
  }

  /** Switches to a new session. Resolves when the subscription is confirmed, or after {@link maxConfirmationMs}. */
  async follow(session: MCPSession): Promise<void> {
    this.#session = session;
    this.#nextAttempt?.stop();
    const { protocol, capabilities } = session.describe();
    const tools = capabilities?.["tools"] as { listChanged?: boolean } | undefined;
    if (protocol?.era !== "modern" || !tools?.listChanged) return;
    const backOff = new BackOff({ first: 500, max: 30_000 });
    const listening = new Promise<void>((resolve) => {
      this.#listen(session, backOff, resolve).then(resolve);
    });
    await settlesWithin(maxConfirmationMs, listening);
  }

  stop(): void {
    this.#session = undefined;
    this.#pendingChange?.stop();
    this.#nextAttempt?.stop();
  }

  async #listen(session: MCPSession, backOff: BackOff, onListening: () => void): Promise<void> {
    try {
      const subscription = await session.client.listen({ toolsListChanged: true });
      onListening();
      await subscription.closed;
      backOff.reset();
    } catch (error) {
      if (isUnsupported(error)) return;
    }
    if (this.#session !== session || session.isEnded) return;
    // Changes during the pause are not received, so the next subscription reports a change.
    const again = () => void this.#listen(session, backOff, () => this.notify());
    // A pending subscription must not keep the process alive.
    this.#nextAttempt = startTimer(again, backOff.next(), { keepsAlive: false });
  }
}

/** Whether the error means that the server does not support subscriptions. */
function isUnsupported(error: unknown): boolean {
  const { code, status } = error as { code?: unknown; status?: unknown };
  return code === -32601 || code === -32602 || status === 404;
}
