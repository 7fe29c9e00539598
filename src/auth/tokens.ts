import { Buffer } from "node:buffer";
import * as crypto from "node:crypto";
import { Emitter } from "../internal/emitter.ts";
import { logger, warnVisibly } from "../internal/log.ts";
import { quote } from "../internal/text.ts";
import { type AuthenticatedIdentity, CallError, expiryOf, toIdentity } from "../operation/inside.ts";
import {
  type Authenticator,
  type AuthenticatorDescription,
  bearerDescription,
  type Credentials,
} from "../serve/authenticator.ts";

const log = logger("auth");

/** A token or key of a caller, stored as a hash, so that a leaked configuration does not contain the token. */
export interface StoredToken {
  /** `sha256:` and the SHA-256 of the token in 64 hexadecimal digits. {@link createToken} and {@link hashToken} return it. */
  hash: string;
  /** The caller. With `expiresAt`, the token is refused after that time. */
  identity: AuthenticatedIdentity;
}

/** An authenticator whose tokens can be changed while a server is running. */
export interface TokenAuthenticator extends Authenticator {
  /** Adds a token. */
  add(token: StoredToken): void;
  /** Removes the token with this hash, and ends its open streams and connections. Returns whether it was there. */
  remove(hash: string): boolean;
  /**
   * Replaces all tokens, and ends open streams and connections whose token is missing or has another identity. A new
   * expiry applies to the others.
   */
  replace(tokens: readonly StoredToken[]): void;
}

/** Options of {@link apiKeys}. */
export interface APIKeyOptions {
  /** Name of the header that contains the key. @default `X-API-Key` */
  header?: string | undefined;
}

/** Random bytes of a created token. */
const tokenBytes = 32;
/** Minimum number of random bits of a token. */
const minTokenBits = 128;

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
  return `sha256:${digestOf(token)}`;
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

/** Returns the digits of a stored hash; `undefined` if it is malformed. */
function parseHash(hash: string): string | undefined {
  return /^sha256:([0-9a-f]{64})$/i.exec(hash)?.[1]?.toLowerCase();
}

/**
 * Identifies callers by the token of `Authorization: Bearer`. A browser that opens a WebSocket sends the same token in the
 * handshake.
 */
export function bearerTokens(tokens: readonly StoredToken[]): TokenAuthenticator {
  return createAuthenticator("bearerTokens", tokens, bearerDescription, ({ token }) => token);
}

/** Identifies callers by a key in a header of its own. */
export function apiKeys(
  keys: readonly StoredToken[],
  { header = "X-API-Key" }: APIKeyOptions = {},
): TokenAuthenticator {
  const name = header.toLowerCase();
  if (!/^(?!(?:authorization|cookie|host|origin)$)[a-z0-9-]+$/.test(name)) {
    throw new TypeError(`The header ${quote(header)} cannot contain a key. Use another name, such as X-API-Key.`);
  }
  const description: AuthenticatorDescription = {
    securitySchemes: { [name]: { type: "apiKey", in: "header", name: header } },
    headers: [name],
  };
  return createAuthenticator("apiKeys", keys, description, ({ headers }) => headers.get(name));
}

interface Entry {
  /** Hexadecimal digits, as bytes, to compare them in constant time. */
  readonly digest: Buffer;
  readonly identity: AuthenticatedIdentity;
}

/** Entries by the first 64 bits of the digest. The time of a lookup reveals at most these, not the token. */
type Entries = Map<string, Entry>;

/** Number of hexadecimal digits of a digest that are the key of its entry. */
const keyLength = 16;

function find(entries: Entries, digest: string): Entry | undefined {
  const entry = entries.get(digest.slice(0, keyLength));
  return entry && crypto.timingSafeEqual(entry.digest, Buffer.from(digest, "latin1")) ? entry : undefined;
}

/** @param name - Name of the function in messages. */
function createAuthenticator(
  name: string,
  tokens: readonly StoredToken[],
  description: AuthenticatorDescription,
  readToken: (credentials: Credentials) => string | null | undefined,
): TokenAuthenticator {
  const changes = new Emitter<void>((error) => log.error("A listener failed: {error}", { error }));
  let entries = readTokens(name, tokens);
  return {
    authenticate(credentials) {
      const token = readToken(credentials);
      const identity = token ? find(entries, digestOf(token))?.identity : undefined;
      if (expiryOf(identity) <= Date.now()) throw tokenExpired();
      return identity;
    },
    describe: () => description,
    onChange: (listener) => changes.on(listener),
    add: (token) => addToken(name, entries, token),
    remove(hash) {
      const digest = parseHash(hash);
      if (digest === undefined || find(entries, digest) === undefined) return false;
      entries.delete(digest.slice(0, keyLength));
      changes.emit();
      return true;
    },
    replace(others) {
      entries = readTokens(name, others);
      changes.emit();
    },
  };
}

function readTokens(name: string, tokens: readonly StoredToken[]): Entries {
  if (!Array.isArray(tokens)) throw new TypeError(`${name} needs a list of { hash, identity }.`);
  if (tokens.length === 0) {
    const properties = { name };
    warnVisibly(log, [{ message: "{name}: There are no tokens, so every token is refused.", properties }]);
  }
  const entries: Entries = new Map();
  for (const token of tokens) addToken(name, entries, token);
  return entries;
}

/** Messages do not contain the hash: it may be the token itself. */
function addToken(name: string, entries: Entries, { hash, identity: given }: StoredToken): void {
  const identity = toIdentity(given);
  if (identity === undefined) {
    throw new TypeError(`An entry of ${name} has no valid identity. Pass an object with an id and a list of scopes.`);
  }
  const [digest, id] = [parseHash(hash), quote(identity.id)];
  if (!hash || digest === digestOf("")) {
    throw new TypeError(`A token of ${id} in ${name} is empty. Check the variable that contains it.`);
  }
  if (digest === undefined) {
    throw new TypeError(`A hash of ${id} in ${name} is malformed. Create it with createToken() or hashToken().`);
  }
  if (entries.has(digest.slice(0, keyLength))) {
    throw new TypeError(`Two entries of ${name} have the same hash. Create one token per caller.`);
  }
  const { expiresAt } = given;
  if (expiresAt !== undefined && (typeof expiresAt !== "number" || Number.isNaN(expiresAt))) {
    throw new TypeError(`The expiresAt of ${id} in ${name} is not a time in ms since the epoch, such as Date.now().`);
  }
  entries.set(digest.slice(0, keyLength), {
    digest: Buffer.from(digest, "latin1"),
    identity: expiresAt === undefined ? identity : { ...identity, expiresAt },
  });
}

function tokenExpired(): CallError {
  return new CallError("ACCESS_DENIED", "The token has expired. Authenticate again.", undefined, { mayHaveRun: false });
}
