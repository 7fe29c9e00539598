import { createHash, randomBytes } from "node:crypto";
import type { Unsubscribe } from "../from/source.ts";
import { BoundedMap } from "../internal/bounded.ts";
import { Emitter } from "../internal/emitter.ts";
import { logger } from "../internal/log.ts";
import type { AuthenticatedIdentity, Identity } from "../operation/index.ts";
import type { Credentials } from "../serve/authenticator.ts";

const log = logger("hub");

/** Tokens of sessions begin with it, so that they are not looked up among the tokens of the configuration. */
const prefix = "console_";
/** Time in ms in which a code can be exchanged. */
const codeMs = 5 * 60_000;
/** Maximum duration of a session in ms. */
const sessionMs = 12 * 3_600_000;
const maxCodes = 1_000;
const maxSessions = 10_000;

/** Returns the identity that a person had when the session began, as it is now; `undefined` if it is gone. Throws if it is refused. */
export type CurrentIdentity = () => AuthenticatedIdentity | undefined | Promise<AuthenticatedIdentity | undefined>;

/** What the page needs to know about a session. */
export interface OpenedSession {
  readonly token: string;
  /** In milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly identity: { readonly id: string };
}

interface Session {
  readonly current: CurrentIdentity;
  readonly scopes: readonly string[];
  readonly expiresAt: number;
  readonly timer: NodeJS.Timeout;
}

/**
 * The people who use the console. A link contains a code, which is exchanged once for the token of a session. Both are
 * kept as hashes, in memory. A session ends with the token of the configuration that it began with, and when that loses
 * rights.
 */
export class ConsoleSessions {
  readonly #codes = new BoundedMap<string, { current: CurrentIdentity; expiresAt: number }>(maxCodes);
  readonly #sessions = new BoundedMap<string, Session>(maxSessions);
  readonly #ended = new Emitter<void>((error) => log.error("A listener failed: {error}", { error }));

  /** Creates the code of a link for the person with this identity. */
  createCode(current: CurrentIdentity): string {
    const code = randomBytes(32).toString("base64url");
    this.#codes.set(hash(code), { current, expiresAt: Date.now() + codeMs });
    return code;
  }

  /** Opens a session for a code, which is then used up. Returns `undefined` if it is unknown, used, or too old. */
  async exchange(code: string): Promise<OpenedSession | undefined> {
    const key = hash(code);
    const known = this.#codes.get(key);
    this.#codes.delete(key);
    return known === undefined || known.expiresAt <= Date.now() ? undefined : this.open(known.current);
  }

  /** Opens a session. Returns `undefined` if the identity is not accepted any more. */
  async open(current: CurrentIdentity): Promise<OpenedSession | undefined> {
    const identity = await resolve(current);
    if (identity === undefined) return undefined;
    const token = prefix + randomBytes(32).toString("base64url");
    const key = hash(token);
    const timer = setTimeout(() => this.#end(key), sessionMs).unref();
    const expiresAt = Date.now() + sessionMs;
    this.#sessions.set(key, { current, scopes: identity.scopes, expiresAt, timer });
    return { token, expiresAt, identity: { id: identity.id } };
  }

  /** Whether a token is that of a session. */
  isSession({ token }: Credentials): boolean {
    return token?.startsWith(prefix) === true;
  }

  /**
   * Identifies the person with a session. Only requests of the page have the header: a stolen token is of no use in a
   * program, and other pages cannot send it.
   */
  async authenticate({ token = "", headers }: Credentials): Promise<Identity> {
    const key = hash(token);
    const session = this.#sessions.get(key);
    if (session === undefined || headers.get("sec-fetch-site") !== "same-origin") throw new Error("Unknown session.");
    const identity = await resolve(session.current);
    const isKept = identity !== undefined && session.scopes.every((scope) => identity.scopes.includes(scope));
    if (isKept && session.expiresAt > Date.now()) return identity;
    this.#end(key);
    throw new Error("The session has ended.");
  }

  /** Ends the session with this token. */
  close(token: string): void {
    this.#end(hash(token));
  }

  /** Calls the listener when a session has ended, so that its streams end, too. */
  onEnd(listener: () => void): Unsubscribe {
    return this.#ended.on(listener);
  }

  /** Ends all sessions. */
  closeAll(): void {
    for (const { timer } of this.#sessions.values()) clearTimeout(timer);
    this.#sessions.clear();
    this.#codes.clear();
  }

  #end(key: string): void {
    const session = this.#sessions.get(key);
    if (session === undefined) return;
    clearTimeout(session.timer);
    this.#sessions.delete(key);
    this.#ended.emit();
  }
}

async function resolve(current: CurrentIdentity): Promise<AuthenticatedIdentity | undefined> {
  try {
    return await current();
  } catch {
    return undefined;
  }
}

function hash(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
