import { Buffer } from "node:buffer";
import * as crypto from "node:crypto";
import { Emitter } from "../internal/emitter.ts";
import { logger, warnVisibly } from "../internal/log.ts";
import { quote } from "../internal/text.ts";
import { type AuthenticatedIdentity, expiryOf, toIdentity } from "../operation/index.ts";

const log = logger("auth");

/** A token or key of a caller, stored as a hash, so that a leaked configuration does not contain the token. */
export interface StoredToken {
  /** `sha256:` and the SHA-256 of the token in 64 hexadecimal digits. {@link createToken} and {@link hashToken} return it. */
  hash: string;
  /** The caller. With `expiresAt`, the token is refused after that time. */
  identity: AuthenticatedIdentity;
}

/** Random bytes of a created token. */
const tokenBytes = 32;
/** Minimum number of random bits of a token. */
const minTokenBits = 128;
const hashPrefix = "sha256:";
const hashPattern = /^sha256:[0-9a-f]{64}$/i;

/** Creates a token with 256 random bits. Send `token` to the caller, and store only `hash`. */
export function createToken(): { token: string; hash: string } {
  const token = crypto.randomBytes(tokenBytes).toString("base64url");
  return { token, hash: hashToken(token) };
}

/**
 * Returns the hash of a token that was created elsewhere, with at least 128 random bits, such as 32 hexadecimal digits.
 * Throws a `TypeError` for a shorter one: a hash does not protect a token that can be guessed.
 */
export function hashToken(token: string): string {
  if (typeof token !== "string" || token.length * bitsPerCharacter(token) < minTokenBits) {
    throw new TypeError(
      `The token is too short: it needs at least ${minTokenBits} random bits. Create one with createToken().`,
    );
  }
  return hashPrefix + digestOf(token);
}

function bitsPerCharacter(token: string): number {
  if (/^[0-9]*$/.test(token)) return Math.log2(10);
  return /^[0-9a-f]*$/i.test(token) ? 4 : 6;
}

/** Returns the SHA-256 of a token in hexadecimal digits. */
function digestOf(token: string): string {
  // Takes a fifth of the time of `createHash`. Other runtimes than Node may not have it.
  return crypto.hash?.("sha256", token) ?? crypto.createHash("sha256").update(token).digest("hex");
}

/** The hash of an empty token, which must never be accepted. */
const emptyDigest = digestOf("");

/** Number of digits by which digests are grouped. */
const groupDigits = 8;

interface Entry {
  /** Hexadecimal digits. */
  readonly digest: string;
  /** The same digits as bytes, to compare them in constant time. */
  readonly bytes: Buffer;
  readonly identity: AuthenticatedIdentity;
}

/** The digest that is being compared. */
const compared = Buffer.alloc(64);

/** Finds identities by token. */
export class TokenStore {
  /** Name of the function in messages. */
  readonly #name: string;
  /** By the first digits of the digest. */
  #entries = new Map<string, Entry[]>();
  readonly #changes = new Emitter<void>((error) => log.error("A listener failed: {error}", { error }));

  constructor(name: string, tokens: readonly StoredToken[]) {
    this.#name = name;
    this.#entries = this.#read(tokens);
  }

  /** Returns the identity of a token; `undefined` for an unknown one. */
  find(token: string): AuthenticatedIdentity | undefined {
    const digest = digestOf(token);
    const candidates = this.#entries.get(digest.slice(0, groupDigits));
    if (candidates === undefined) return undefined;
    compared.write(digest, "latin1");
    // The time reveals at most the beginning of a digest, which does not help to find its token.
    return candidates.find(({ bytes }) => crypto.timingSafeEqual(bytes, compared))?.identity;
  }

  /** Adds a token. */
  add(token: StoredToken): void {
    for (const [group, entries] of this.#read([token])) {
      const known = this.#entries.get(group) ?? [];
      if (known.some(({ digest }) => digest === entries[0]!.digest)) throw this.#repeated();
      this.#entries.set(group, [...known, ...entries]);
    }
  }

  /** Removes the token with a hash. Returns whether it was there. */
  remove(hash: string): boolean {
    if (typeof hash !== "string" || !hashPattern.test(hash)) return false;
    const removed = hash.slice(hashPrefix.length).toLowerCase();
    const group = removed.slice(0, groupDigits);
    const entries = this.#entries.get(group) ?? [];
    const remaining = entries.filter(({ digest }) => digest !== removed);
    if (remaining.length === entries.length) return false;
    if (remaining.length === 0) this.#entries.delete(group);
    else this.#entries.set(group, remaining);
    this.#changes.emit();
    return true;
  }

  /** Replaces all tokens. If one of them is invalid, nothing changes. */
  replace(tokens: readonly StoredToken[]): void {
    this.#entries = this.#read(tokens);
    this.#changes.emit();
  }

  /** Calls the listener when a token was removed. */
  readonly onChange = (listener: () => void): (() => void) => this.#changes.on(listener);

  #read(tokens: readonly StoredToken[]): Map<string, Entry[]> {
    if (!Array.isArray(tokens)) throw new TypeError(`${this.#name} needs a list of { hash, identity }.`);
    const entries = new Map<string, Entry[]>();
    for (const [index, { hash, identity: given }] of (tokens as readonly StoredToken[]).entries()) {
      const identity = toIdentity(given);
      if (identity === undefined)
        throw this.#invalid(index, "identity must be an object with an id and a list of scopes");
      if (hash === undefined || hash === "" || hash === null) {
        this.#warn("A token of {id} has no hash, and is refused. Check the variable that contains it.", identity.id);
        continue;
      }
      // The message does not contain the value: it may be the token itself.
      if (typeof hash !== "string" || !hashPattern.test(hash)) {
        throw this.#invalid(index, "hash must be sha256: and 64 hexadecimal digits. Create it with createToken()");
      }
      const digest = hash.slice(hashPrefix.length).toLowerCase();
      if (digest === emptyDigest) {
        this.#warn("A token of {id} is empty, and is refused. Check the variable that contains it.", identity.id);
        continue;
      }
      const expiresAt = expiryOf(given);
      const found = expiresAt === Number.POSITIVE_INFINITY ? identity : { ...identity, expiresAt };
      const group = digest.slice(0, groupDigits);
      const others = entries.get(group) ?? [];
      if (others.some((other) => other.digest === digest)) throw this.#repeated();
      entries.set(group, [...others, { digest, bytes: Buffer.from(digest, "latin1"), identity: found }]);
    }
    if (tokens.length === 0) this.#warn("There are no tokens, so every token is refused.", "");
    return entries;
  }

  #invalid(index: number, problem: string): TypeError {
    return new TypeError(`Entry ${index} of ${this.#name} is invalid: ${problem}.`);
  }

  #repeated(): TypeError {
    return new TypeError(`Two entries of ${this.#name} have the same hash. Create one token per caller.`);
  }

  #warn(problem: string, id: string): void {
    warnVisibly(log, [{ message: `{name}: ${problem}`, properties: { name: this.#name, id: quote(id) } }]);
  }
}
