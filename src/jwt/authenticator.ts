import type { JWTPayload, JWTVerifyResult } from "jose";
import { BoundedMap } from "../internal/bounded.ts";
import {
  type AuthenticatedIdentity,
  accessDenied,
  CallError,
  type Identity,
  isCallError,
  resolveDuration,
} from "../operation/inside.ts";
import type { CallRequested } from "../transport/transport.ts";
import { callTokenType, type JWTBinding, maxTokenLength, readIdentity, toCallClaims } from "./claims.ts";
import { createVerify, type KeySource, loadJose } from "./keys.ts";
import { Refusal, toRefusal } from "./refusal.ts";

/** Options of {@link createJWTAuthenticator}. */
export interface JWTAuthenticatorOptions extends KeySource {
  /** Required issuer of tokens. @default any issuer with the key */
  issuer?: string | string[];
  /** Required audience of tokens: the name of this service. */
  audience: string | string[];
  /** Required binding of tokens. Must equal that of the signer. @default "call" */
  bind?: JWTBinding;
  /** Maximum difference between clocks, in ms, 0 or above. @default 10,000 */
  clockTolerance?: number;
  /**
   * Maximum lifetime of tokens, in ms, above 0; tokens with a longer one are refused. `Infinity` for no limit.
   * @default five minutes for a call; a day for a subscription, and with `bind: "identity"`
   */
  maxLifetime?: number;
  /**
   * Ensures that a token for a call is used once. Pass a function that all workers share, such as one with `SET … NX` of
   * Redis, so that no other worker accepts the token again. @default this authenticator remembers used tokens in memory
   */
  takeOnce?: TakeOnce;
}

/**
 * Verifies the token of a call and returns its identity. Pass it as `authenticate` to `buildCallHandler`. The `exp` of the
 * token becomes `expiresAt` of the identity: subscriptions and connections end then.
 */
export type JWTAuthenticator = (
  token: string | undefined,
  claim?: unknown,
  request?: Readonly<CallRequested>,
) => Promise<AuthenticatedIdentity | undefined>;

/** A token whose signature and claims are valid. */
interface CheckedToken {
  readonly payload: JWTPayload;
  readonly identity: Identity;
  /** When it expires, in ms since the epoch. */
  readonly expiresAt: number;
  /** Until when it is accepted, because clocks differ. */
  readonly lasts: number;
}

/** Maximum number of verified tokens that are cached, so that the next call needs no verification. */
const maxKept = 1_000;
/** Maximum time in the cache, in ms, so that tokens of a revoked key are not accepted until they expire. */
const maxKeptMs = 600_000;
/** Default maximum lifetimes, in ms: of a token for a call, and of one for a subscription or an identity. */
const maxCallLifetime = 300_000;
const maxIdentityLifetime = 86_400_000;

/**
 * Creates the function that verifies signed identities, with `jose`. A call without a token has no identity; a call
 * with an invalid token fails with `ACCESS_DENIED`. Throws when a key is missing or cannot be used.
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

  /** Checks everything that does not depend on the call. */
  const check = async (token: string, maxLifetime: number): Promise<CheckedToken> => {
    if (token.length > maxTokenLength) throw new Refusal(`the token has more than ${maxTokenLength} characters`);
    const { payload, protectedHeader } = await verify(token);
    const expiresAt = payload.exp! * 1_000;
    const lasts = expiresAt + clockTolerance;
    if (!(lasts <= Date.now() + maxLifetime + 2 * clockTolerance)) throw tooLongLived(maxLifetime);
    assertType(protectedHeader, bind);
    return { payload, identity: readIdentity(payload), expiresAt, lasts };
  };

  const checkForCall = async (token: string, request: Readonly<CallRequested> | undefined) => {
    if (request === undefined)
      throw new Refusal('a token for one call cannot open a connection; set bind to "identity" at both peers');
    const maxLifetime = givenLifetime ?? (request.credit === undefined ? maxCallLifetime : maxIdentityLifetime);
    const checked = await check(token, maxLifetime);
    const { payload, lasts } = checked;
    const { jti, op, digest } = await toCallClaims(request);
    if (payload.jti !== jti || payload["op"] !== op || payload["digest"] !== digest) {
      throw new Refusal("the token was created for another call; sign every call separately");
    }
    if ((await takeOnce(jti, lasts)) !== true) {
      throw new Refusal("the token was used before; sign every call separately", { mayHaveRun: true });
    }
    return withExpiry(checked);
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

/** Caches the identities of verified tokens for a limited time. */
function keepIdentities(check: (token: string) => Promise<CheckedToken>) {
  const kept = new BoundedMap<string, CheckedToken & { until: number }>(maxKept);
  return async (token: string): Promise<AuthenticatedIdentity> => {
    const known = kept.get(token);
    if (known !== undefined && Date.now() < known.until) return withExpiry(known);
    kept.delete(token);
    const checked = await check(token);
    kept.set(token, { ...checked, until: Math.min(checked.lasts, Date.now() + maxKeptMs) });
    return withExpiry(checked);
  };
}

/** Adds the expiry. A token that is accepted after its `exp`, because clocks differ, is valid for as long as it is accepted. */
function withExpiry({ identity, expiresAt, lasts }: CheckedToken): AuthenticatedIdentity {
  return { ...identity, expiresAt: Date.now() < expiresAt ? expiresAt : lasts };
}

/** Checks the type of a token. A token for one call, which other peers can read on the bus, must not allow every call. */
function assertType({ typ }: JWTVerifyResult["protectedHeader"], bind: JWTBinding): void {
  const isForCall = typeof typ === "string" && typ.toLowerCase().replace(/^application\//, "") === callTokenType;
  if (isForCall === (bind === "call")) return;
  throw new Refusal(
    isForCall
      ? 'the token is for one call, but the server requires tokens for an identity; set bind to "identity" at the signer'
      : 'the token is not bound to this call; create it with createJWTSigner, or set bind to "identity" at both peers',
  );
}

function tooLongLived(maxLifetime: number): Refusal {
  return new Refusal(
    `the token is valid for more than ${maxLifetime / 1_000} s; create it with a shorter lifetime, or raise maxLifetime`,
  );
}

function toDenial(error: unknown, operationId: string | undefined): unknown {
  const refusal = toRefusal(error);
  if (refusal !== undefined) {
    const { mayHaveRun, message: reason } = refusal;
    // A token that opens a connection, or one of a request to a server, is verified before the operation is known.
    if (operationId === undefined) {
      return new CallError("ACCESS_DENIED", `The token is not accepted: ${reason}.`, { reason }, { mayHaveRun });
    }
    const { code, message, details } = accessDenied(operationId, reason);
    return new CallError(code, message, details, { mayHaveRun });
  }
  if (isCallError(error)) return error;
  const message = "The token could not be verified: its keys could not be fetched, or takeOnce failed.";
  return new CallError("UNAVAILABLE", message, undefined, { cause: error, retryable: true, mayHaveRun: false });
}

/**
 * Returns `true` for the first use of a request id. The id can be forgotten at `expiresAt`, in ms since the epoch, when its
 * token has expired.
 */
export type TakeOnce = (requestId: string, expiresAt: number) => boolean | Promise<boolean>;

const slotMs = 8_000;
/** At most about 100 MB. Only a holder of the key can fill it. */
const maxRemembered = 1_000_000;

/** Remembers the calls of tokens that were used, each until its token has expired. */
export function rememberCalls(limit = maxRemembered): TakeOnce {
  // Slots by expiry, which is signed, so that the same token always uses the same slot.
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
      // Removing some of them would allow old tokens to be used again.
      throw new Refusal("the server cannot remember more used tokens; create tokens with a shorter lifetime");
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
