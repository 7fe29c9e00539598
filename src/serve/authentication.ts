import { logger, warnVisibly } from "../internal/log.ts";
import { getOwn } from "../internal/objects.ts";
import { redact } from "../internal/secrets.ts";
import { startTimer, type Timer } from "../internal/timers.ts";
import { waitFor } from "../internal/wait.ts";
import {
  CallError,
  expiryOf,
  type Identity,
  isCallError,
  mapError,
  toIdentity,
  unavailable,
} from "../operation/inside.ts";
import {
  type Authenticator,
  type AuthenticatorDescription,
  bearerDescription,
  type Credentials,
} from "./authenticator.ts";
import { denied } from "./refusals.ts";

const log = logger("serve");

/** Maximum duration of `authenticate`, in ms. */
const authenticateTimeoutMs = 10_000;
/** Time in ms after which credentials are checked again that could not be checked. */
const recheckDelayMs = 5_000;

/** A request that may continue, and its sender. */
export interface Caller {
  readonly kind: "caller";
  /** A frozen snapshot; `undefined` for an anonymous caller. */
  readonly identity: Identity | undefined;
  /** When the credentials expire, in ms since the epoch; `Infinity` if they do not. */
  readonly expiresAt: number;
  /** The credentials, with which open streams are authenticated again. */
  readonly credentials: Credentials;
  /** Headers that the response must have; `undefined` without CORS. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Returns who uses a share of the limits of a server: an identity, or the address of anonymous callers. */
export function ownerOf({ identity, credentials }: Pick<Caller, "identity" | "credentials">): string {
  return identity?.id ?? `address ${credentials.remoteAddress ?? ""}`;
}

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

/** Authenticates callers, and ends their streams and connections when their credentials expire or lose rights. */
export class Authentication {
  readonly description: AuthenticatorDescription;
  readonly #authenticator: Authenticator;
  readonly #watches = new Set<Watch>();
  /** Absent if the authenticator does not report changes. */
  readonly #stopListening: (() => void) | undefined;
  /** Runs while credentials of open streams could not be checked. */
  #recheckTimer: Timer | undefined = undefined;

  constructor(authenticator: Authenticator) {
    this.description = authenticator.describe?.() ?? bearerDescription;
    this.#authenticator = authenticator;
    this.#stopListening = authenticator.onChange?.(() => this.#recheckAll());
  }

  /** Rejects if the authenticator cannot accept any caller. */
  async ready(): Promise<void> {
    await this.#authenticator.ready?.();
  }

  /** Authenticates a caller. Rejects with a `CallError` if it is refused. */
  async identify(credentials: Credentials): Promise<Caller> {
    try {
      const identified = this.#authenticator.authenticate(credentials);
      const result: unknown = isThenable(identified)
        ? await waitFor(Promise.resolve(identified), { timeout: authenticateTimeoutMs }, checkTimedOut)
        : identified;
      return this.#toCaller(result, credentials);
    } catch (error) {
      throw toRefusal(error, credentials);
    }
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

  /** Converts the result of `authenticate`. Throws if the caller is refused. */
  #toCaller(result: unknown, credentials: Credentials): Caller {
    const expiresAt = expiryOf(result);
    const identity = toIdentity(result);
    const isExpired = expiresAt !== Number.POSITIVE_INFINITY && expiresAt <= Date.now();
    if (identity === undefined ? result === undefined && !this.#hasCredentials(credentials) : !isExpired) {
      return { kind: "caller", identity, expiresAt, credentials };
    }
    if (result === undefined) throw denied("The server does not accept these credentials. Check the token or key.");
    if (isExpired) throw denied("The credentials have expired. Authenticate again.");
    const message =
      "authenticate returned a value that is not an identity. Return an object with id and scopes, or undefined.";
    warnVisibly(log, [{ message, properties: {} }], "error");
    throw denied("The credentials were refused.");
  }

  /** Returns whether a request contains credentials, also of a scheme that the authenticator does not know. */
  #hasCredentials({ headers, token }: Credentials): boolean {
    if (token !== undefined || headers.has("authorization")) return true;
    return this.description.headers.some((name) => headers.has(name));
  }

  #recheckAll(): void {
    for (const watch of this.#watches) void this.#recheck(watch);
  }

  /** Authenticates the caller of an open stream again, which ends the stream or keeps it. It never has more rights. */
  async #recheck(watch: Watch): Promise<void> {
    const { caller } = watch;
    const known = await this.identify(caller.credentials).catch((error: CallError) => error);
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

/** Returns the error for the caller. The message of an error that is not a `CallError` stays on this machine. */
function toRefusal(error: unknown, { token }: Credentials): CallError {
  if (isCallError(error)) {
    const { code, message, retryable } = error;
    if (code !== "UNAVAILABLE") return denied(message);
    return new CallError(code, message, undefined, { retryable, mayHaveRun: false });
  }
  const reason = redact(mapError(error).message, token === undefined ? [] : [token]);
  log.warn("authenticate refused a caller: {reason}", { reason });
  return denied("The credentials were refused.");
}

function checkTimedOut(): CallError {
  const message = `The credentials could not be checked within ${authenticateTimeoutMs} ms. Try again later.`;
  return unavailable(message, { mayHaveRun: false });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
