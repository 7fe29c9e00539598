import type { JWTVerifyResult } from "jose";
import { BoundedMap } from "../internal/bounded.ts";
import {
  type AuthenticatedIdentity,
  accessDenied,
  CallError,
  type Identity,
  isCallError,
  resolveDuration,
} from "../operation/index.ts";
import type { CallRequested } from "../transport/transport.ts";
import { callTokenType, copyIdentity, type JWTBinding, maxTokenLength, toCallClaims, toIdentity } from "./claims.ts";
import { createVerify, type KeySource, loadJose } from "./keys.ts";
import { Refusal, toRefusal } from "./refusal.ts";

/** Which tokens are accepted. */
export interface JWTAuthenticatorOptions extends KeySource {
  /** Who must have signed. @default any holder of the key */
  issuer?: string | string[];
  /** Whom tokens must be for: the name of this service. */
  audience: string | string[];
  /** What a token must be good for; see the signer. @default "call" */
  bind?: JWTBinding;
  /** How far clocks may be apart, in ms, 0 or above. @default 10,000 */
  clockTolerance?: number;
  /**
   * Tokens that are good for longer, in ms, above 0, are refused; `Infinity` refuses none.
   * @default five minutes for a call; a day for a subscription, and with `bind: "identity"`
   */
  maxLifetime?: number;
  /**
   * Makes sure that a token for a call is used once. Pass one that all workers share, such as `SET … NX` of Redis, so
   * that no other worker accepts it a second time either. @default this authenticator remembers what it has seen
   */
  takeOnce?: TakeOnce;
}

/**
 * Returns the identity that a call is made for, by its token. Fits `authenticate` of `buildCallHandler`, and with `bind: "identity"`
 * that of the WebSocket server. The identity has the `exp` of the token as `expiresAt`: subscriptions and connections end
 * then.
 */
export type JWTAuthenticator = (
  token: string | undefined,
  claim?: unknown,
  request?: Readonly<CallRequested>,
) => Promise<AuthenticatedIdentity | undefined>;

/** How many checked tokens are kept, so that the next call needs no second check. */
const maxKept = 1_000;
/** And for how long, in ms: a key that was withdrawn must not be accepted for as long as its tokens last. */
const maxKeptMs = 600_000;
/** In ms: for how long a token for a call may be good, and one for a subscription or an identity. */
const maxCallLifetime = 300_000;
const maxIdentityLifetime = 86_400_000;

/**
 * Creates the function that verifies signed identities, with `jose`. A call without a token has no identity; one whose
 * token is refused fails with `ACCESS_DENIED`. Throws when a key is missing or cannot be used.
 */
export async function createJWTAuthenticator(options: JWTAuthenticatorOptions): Promise<JWTAuthenticator> {
  const { issuer, audience, bind = "call", takeOnce = rememberCalls() } = options;
  if (audience === undefined || audience.length === 0)
    throw new TypeError("The audience is missing. Set it to the name of this service.");
  const untimed = true;
  const clockTolerance = resolveDuration("clockTolerance", options.clockTolerance, 10_000, { zero: true, untimed });
  const givenLifetime = resolveDuration("maxLifetime", options.maxLifetime, undefined, { infinite: true, untimed });
  const jose = await loadJose();
  const verify = await createVerify(jose, options, {
    audience,
    clockTolerance: clockTolerance / 1_000,
    requiredClaims: ["exp", "sub"],
    ...(issuer === undefined ? {} : { issuer }),
  });

  /** Checks all that can be checked without the call. */
  const check = async (token: string, maxLifetime: number) => {
    if (token.length > maxTokenLength) throw new Refusal(`the token has more than ${maxTokenLength} characters`);
    const { payload, protectedHeader } = await verify(token);
    const expiresAt = payload.exp! * 1_000;
    const lasts = expiresAt + clockTolerance;
    if (!(lasts <= Date.now() + maxLifetime + 2 * clockTolerance)) throw tooLongLived(maxLifetime);
    assertType(protectedHeader, bind);
    return { payload, identity: toIdentity(payload), expiresAt, lasts };
  };

  const checkForCall = async (token: string, request: Readonly<CallRequested> | undefined) => {
    if (request === undefined)
      throw new Refusal('tokens for one call do not open connections; use bind: "identity" there');
    const maxLifetime = givenLifetime ?? (request.credit === undefined ? maxCallLifetime : maxIdentityLifetime);
    const { payload, identity, expiresAt, lasts } = await check(token, maxLifetime);
    const { jti, op, digest } = await toCallClaims(request);
    if (payload.jti !== jti || payload["op"] !== op || payload["digest"] !== digest) {
      throw new Refusal("the token was made for another call; sign every call separately");
    }
    if ((await takeOnce(jti, lasts)) !== true) {
      throw new Refusal("the token was used before; sign every call separately", { mayHaveRun: true });
    }
    return withExpiry(identity, expiresAt, lasts);
  };

  const checkKept = keepIdentities((token) => check(token, givenLifetime ?? maxIdentityLifetime));

  return async (token, _claim, request) => {
    if (token === undefined) return undefined;
    try {
      return await (bind === "call" ? checkForCall(token, request) : checkKept(token));
    } catch (error) {
      throw toDenial(error, request?.operationId);
    }
  };
}

/** Remembers the identities of verified tokens for a while. */
function keepIdentities(
  check: (token: string) => Promise<{ identity: Identity; expiresAt: number; lasts: number }>,
): (token: string) => Promise<AuthenticatedIdentity> {
  const kept = new BoundedMap<string, { identity: Identity; expiresAt: number; lasts: number; until: number }>(maxKept);
  return async (token) => {
    const known = kept.get(token);
    if (known !== undefined && Date.now() < known.until) {
      return withExpiry(copyIdentity(known.identity), known.expiresAt, known.lasts);
    }
    kept.delete(token);
    const { identity, expiresAt, lasts } = await check(token);
    kept.set(token, { identity, expiresAt, lasts, until: Math.min(lasts, Date.now() + maxKeptMs) });
    return withExpiry(copyIdentity(identity), expiresAt, lasts);
  };
}

/** A token that is accepted after its `exp`, because clocks differ, is good for as long as it is accepted. */
function withExpiry(identity: Identity, expiresAt: number, lasts: number): AuthenticatedIdentity {
  return { ...identity, expiresAt: Date.now() < expiresAt ? expiresAt : lasts };
}

/** A token for one call, which other peers can read on the bus, must not pass for one that allows every call. */
function assertType({ typ }: JWTVerifyResult["protectedHeader"], bind: JWTBinding): void {
  const isForCall = typeof typ === "string" && typ.toLowerCase().replace(/^application\//, "") === callTokenType;
  if (isForCall === (bind === "call")) return;
  throw new Refusal(
    isForCall
      ? 'the token is for one call, and the server accepts those for an identity; set bind to "identity" at the signer'
      : 'the token is not bound to this call; create it with createJWTSigner, or set bind to "identity" at both peers',
  );
}

function tooLongLived(maxLifetime: number): Refusal {
  return new Refusal(
    `the token is good for more than ${maxLifetime / 1_000} s; create it with a shorter lifetime, or raise maxLifetime`,
  );
}

function toDenial(error: unknown, operationId = "this service"): unknown {
  const refusal = toRefusal(error);
  if (refusal !== undefined) {
    const { code, message, details } = accessDenied(operationId, refusal.message);
    return new CallError(code, message, details, { mayHaveRun: refusal.mayHaveRun });
  }
  if (isCallError(error)) return error;
  const message = "The token could not be verified: its keys could not be fetched, or takeOnce failed.";
  return new CallError("UNAVAILABLE", message, undefined, { cause: error, retryable: true, mayHaveRun: false });
}

/**
 * Returns `true` for the first use of a request id before `expiresAt`, in ms since the epoch; after that the token has
 * expired.
 */
export type TakeOnce = (requestId: string, expiresAt: number) => boolean | Promise<boolean>;

const slotMs = 8_000;
/** At most about 100 MB. Only a holder of the key can fill it. */
const maxRemembered = 1_000_000;

/** Remembers the calls of tokens that were used, each until its token has expired. */
export function rememberCalls(limit = maxRemembered): TakeOnce {
  // By when they expire: a signed time, so the same token always uses the same slot.
  const slots = new Map<number, Set<string>>();
  let size = 0;
  let lastSwept = 0;

  const sweep = (now: number) => {
    lastSwept = now;
    for (const [slot, ids] of slots) {
      if (slot >= now) continue;
      slots.delete(slot);
      size -= ids.size;
    }
  };

  return (requestId, expiresAt) => {
    const now = Math.floor(Date.now() / slotMs);
    if (now !== lastSwept) sweep(now);
    if (size >= limit) {
      // Forgetting some would accept old tokens again.
      throw new Refusal("the server remembers as many calls as it can; create tokens with a shorter lifetime");
    }
    const slot = Math.floor(expiresAt / slotMs);
    let ids = slots.get(slot);
    if (ids === undefined) {
      ids = new Set();
      slots.set(slot, ids);
    }
    if (ids.has(requestId)) return false;
    ids.add(requestId);
    size += 1;
    return true;
  };
}
