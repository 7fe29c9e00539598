import { startTimer, type Timer } from "../internal/timers.ts";
import type { Authenticator } from "./authenticator.ts";
import type { Caller } from "./gate.ts";

/** Why credentials are no longer accepted. */
export type CredentialEnd = "expired" | "revoked";

/** An open stream, session or connection of a caller. */
interface Watch {
  readonly caller: Caller;
  readonly end: (reason: CredentialEnd) => void;
  timer: Timer | undefined;
}

/** For a caller who is not watched. Shared, because there may be many idle streams. */
const ignore = () => {};

/** Ends what callers have open when their credentials expire, or when the authenticator no longer accepts them. */
export class CredentialWatches {
  /** Number of changes that the authenticator has reported. */
  changes = 0;
  readonly #watches = new Set<Watch>();
  readonly #reports: boolean;
  readonly #isStillValid: (caller: Caller) => Promise<boolean>;
  readonly #stopListening: () => void;

  constructor(authenticator: Authenticator | undefined, isStillValid: (caller: Caller) => Promise<boolean>) {
    this.#isStillValid = isStillValid;
    this.#reports = authenticator?.onChange !== undefined;
    this.#stopListening =
      authenticator?.onChange?.(() => {
        this.changes += 1;
        for (const watch of this.#watches) void this.#recheck(watch);
      }) ?? (() => {});
  }

  /** Calls `end` once, unless the returned function is called before. */
  add(caller: Caller, end: (reason: CredentialEnd) => void): () => void {
    const { identity, expiresAt } = caller;
    const isTimed = expiresAt !== Number.POSITIVE_INFINITY;
    if (identity === undefined || !(isTimed || this.#reports)) return ignore;
    const watch: Watch = { caller, end, timer: undefined };
    this.#watches.add(watch);
    const delay = Math.max(expiresAt - Date.now(), 0);
    if (isTimed) watch.timer = startTimer(() => this.#finish(watch, "expired"), delay, { keepsAlive: false });
    // The credentials may have been removed while the request was on its way to here.
    if (caller.changes !== this.changes) void this.#recheck(watch);
    return () => this.#remove(watch);
  }

  /** Stops watching, without ending anything. */
  close(): void {
    this.#stopListening();
    for (const watch of this.#watches) this.#remove(watch);
  }

  async #recheck(watch: Watch): Promise<void> {
    if (!(await this.#isStillValid(watch.caller))) this.#finish(watch, "revoked");
  }

  #finish(watch: Watch, reason: CredentialEnd): void {
    if (this.#remove(watch)) watch.end(reason);
  }

  #remove(watch: Watch): boolean {
    watch.timer?.stop();
    return this.#watches.delete(watch);
  }
}
