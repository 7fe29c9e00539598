import { getOwn } from "../internal/objects.ts";
import { startTimer, type Timer } from "../internal/timers.ts";
import { CallError, type Identity } from "../operation/inside.ts";
import type { Authenticator, Credentials } from "./authenticator.ts";
import type { Caller } from "./gate.ts";

/** Time in ms after which credentials are checked again that could not be checked. */
const recheckDelayMs = 5_000;

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

/** Ends streams and connections when the credentials of their callers expire or lose rights. */
export class CredentialWatches {
  readonly #identify: (credentials: Credentials) => Promise<Caller>;
  readonly #watches = new Set<Watch>();
  /** Absent if the authenticator does not report changes. */
  readonly #stopListening: (() => void) | undefined;
  /** Runs while credentials of open streams could not be checked. */
  #recheckTimer: Timer | undefined = undefined;

  /** @param identify - authenticates a caller again */
  constructor(authenticator: Authenticator | undefined, identify: (credentials: Credentials) => Promise<Caller>) {
    this.#identify = identify;
    this.#stopListening = authenticator?.onChange?.(() => this.#recheckAll());
  }

  /** Calls `end` once, unless the returned function is called before. */
  watch(caller: Caller, end: (reason: CredentialEnd) => void): () => void {
    const isTimed = caller.expiresAt !== Number.POSITIVE_INFINITY;
    if (caller.identity === undefined || !(isTimed || this.#stopListening)) return ignore;
    const watch: Watch = { caller, end, timer: undefined };
    this.#watches.add(watch);
    this.#endAt(watch, caller.expiresAt);
    // The credentials may have been removed while the request was on its way to here.
    if (this.#stopListening !== undefined) void this.#recheck(watch);
    return () => this.#remove(watch);
  }

  /** Stops watching, without ending anything. */
  close(): void {
    this.#stopListening?.();
    this.#recheckTimer?.stop();
    for (const watch of this.#watches) this.#remove(watch);
  }

  #recheckAll(): void {
    for (const watch of this.#watches) void this.#recheck(watch);
  }

  /** Authenticates the caller of an open stream again, which ends the stream or keeps it. It never has more rights. */
  async #recheck(watch: Watch): Promise<void> {
    const { caller } = watch;
    const known = await this.#identify(caller.credentials).catch((error: CallError) => error);
    if (!this.#watches.has(watch)) return;
    if (known instanceof CallError && known.code === "UNAVAILABLE") return this.#recheckLater();
    if (known instanceof CallError || !covers(known.identity, caller.identity)) return this.#finish(watch, "revoked");
    if (known.expiresAt < caller.expiresAt) this.#endAt(watch, known.expiresAt);
  }

  #recheckLater(): void {
    const recheck = () => {
      this.#recheckTimer = undefined;
      this.#recheckAll();
    };
    this.#recheckTimer ??= startTimer(recheck, recheckDelayMs, { keepsAlive: false });
  }

  /** Ends a stream when the credentials of its caller expire. */
  #endAt(watch: Watch, expiresAt: number): void {
    watch.timer?.stop();
    const delay = Math.max(expiresAt - Date.now(), 0);
    watch.timer = startTimer(() => this.#finish(watch, "expired"), delay, { keepsAlive: false });
  }

  #finish(watch: Watch, reason: CredentialEnd): void {
    if (this.#remove(watch)) watch.end(reason);
  }

  #remove(watch: Watch): boolean {
    watch.timer?.stop();
    return this.#watches.delete(watch);
  }
}

/** Returns whether an identity has all rights of another one with the same id. */
function covers(identity: Identity | undefined, other: Identity | undefined): boolean {
  if (identity === undefined || other === undefined) return identity === other;
  const hasAll = (list: unknown, wanted: readonly string[]) =>
    wanted.every((one) => Array.isArray(list) && list.includes(one));
  return (
    identity.id === other.id &&
    hasAll(identity.scopes, other.scopes) &&
    Object.entries(other.resources ?? {}).every(([key, actions]) => hasAll(getOwn(identity.resources, key), actions))
  );
}
