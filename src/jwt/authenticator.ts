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
import { maxTokenLength, readIdentity } from "./claims.ts";
import { createVerify, type KeySource, loadJose } from "./keys.ts";
import { Refusal, toRefusal } from "./refusal.ts";

/** Options of {@link createJWTAuthenticator}. */
export interface JWTAuthenticatorOptions extends KeySource {
  /** Required issuer of tokens. @default any issuer with the key */
  issuer?: string | string[];
  /** Required audience of tokens: the name of this service. */
  audience: string | string[];
  /** Maximum difference between clocks, in ms, 0 or above. @default 10,000 */
  clockTolerance?: number;
  /** Maximum lifetime of tokens, in ms, above 0; `Infinity` for no limit. @default a day */
  maxLifetime?: number;
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
  readonly identity: Identity;
  /** When it expires, in ms since the epoch. */
  readonly expiresAt: number;
  /** Until when it is accepted, because clocks differ. */
  readonly lasts: number;
  /** Until when the result is cached. */
  readonly until: number;
}

/** Maximum number of verified tokens that are cached, so that the next call needs no verification. */
const maxKept = 1_000;
/** Maximum time in the cache, in ms, so that tokens of a revoked key are not accepted until they expire. */
const maxKeptMs = 600_000;
const defaultMaxLifetime = 86_400_000;

/**
 * Creates the function that verifies signed identities, with `jose`. A call without a token has no identity; a call
 * with an invalid token fails with `ACCESS_DENIED`. Throws when a key is missing or cannot be used.
 */
export async function createJWTAuthenticator(options: JWTAuthenticatorOptions): Promise<JWTAuthenticator> {
  const { issuer, audience } = options;
  if (audience === undefined || audience.length === 0)
    throw new TypeError("The audience is missing. Set it to the name of this service.");
  const untimed = true;
  const clockTolerance = resolveDuration("clockTolerance", options.clockTolerance, 10_000, { zero: true, untimed });
  const durations = { infinite: true, untimed };
  const maxLifetime = resolveDuration("maxLifetime", options.maxLifetime, defaultMaxLifetime, durations);
  const verify = await createVerify(await loadJose(), options, {
    audience,
    clockTolerance: clockTolerance / 1_000,
    requiredClaims: ["exp", "sub"],
    ...(issuer === undefined ? {} : { issuer }),
  });
  const kept = new BoundedMap<string, CheckedToken>(maxKept);

  const check = async (token: string): Promise<CheckedToken> => {
    const known = kept.get(token);
    if (known !== undefined && Date.now() < known.until) return known;
    kept.delete(token);
    if (token.length > maxTokenLength) throw new Refusal(`the token has more than ${maxTokenLength} characters`);
    const { payload } = await verify(token);
    const expiresAt = payload.exp! * 1_000;
    const lasts = expiresAt + clockTolerance;
    if (!(lasts <= Date.now() + maxLifetime + 2 * clockTolerance)) throw tooLongLived(maxLifetime);
    const until = Math.min(lasts, Date.now() + maxKeptMs);
    const checked = { identity: readIdentity(payload), expiresAt, lasts, until };
    kept.set(token, checked);
    return checked;
  };

  return async (token, _claim, request) => {
    if (token === undefined) return undefined;
    try {
      return withExpiry(await check(token));
    } catch (error) {
      throw toDenial(error, request?.operationId);
    }
  };
}

/** Adds the expiry. A token that is accepted after its `exp`, because clocks differ, is valid for as long as it is accepted. */
function withExpiry({ identity, expiresAt, lasts }: CheckedToken): AuthenticatedIdentity {
  return { ...identity, expiresAt: Date.now() < expiresAt ? expiresAt : lasts };
}

function tooLongLived(maxLifetime: number): Refusal {
  return new Refusal(
    `the token is valid for more than ${maxLifetime / 1_000} s; create it with a shorter lifetime, or raise maxLifetime`,
  );
}

function toDenial(error: unknown, operationId: string | undefined): unknown {
  const refusal = toRefusal(error);
  if (refusal !== undefined) {
    const reason = refusal.message;
    const mayHaveRun = false;
    // A token that opens a connection, or one of a request to a server, is verified before the operation is known.
    if (operationId === undefined) {
      return new CallError("ACCESS_DENIED", `The token is not accepted: ${reason}.`, { reason }, { mayHaveRun });
    }
    const { code, message, details } = accessDenied(operationId, reason);
    return new CallError(code, message, details, { mayHaveRun });
  }
  if (isCallError(error)) return error;
  const message = "The token could not be verified: its keys could not be fetched.";
  return new CallError("UNAVAILABLE", message, undefined, { cause: error, retryable: true, mayHaveRun: false });
}
