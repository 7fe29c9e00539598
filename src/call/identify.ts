import {
  type AuthenticatedIdentity,
  accessDenied,
  CallError,
  credentialExpired,
  expiryOf,
  type Identity,
  isCallError,
} from "../operation/index.ts";
import type { CallRequested } from "../transport/transport.ts";

/**
 * Tells who calls. Gets the token, the identity that the request claims and the request itself, none of which is to be
 * believed as it is. `undefined` lets the call go on without an identity; throwing refuses it. With `expiresAt`, the
 * subscriptions that it lets in end then.
 */
export type Authenticate = (
  token: string | undefined,
  claim: Identity | undefined,
  request: Readonly<CallRequested>,
) => AuthenticatedIdentity | undefined | Promise<AuthenticatedIdentity | undefined>;

/** How a serving side comes to believe in an identity. */
export interface IdentityRules {
  authenticate?: Authenticate | undefined;
  /**
   * Believes the identity that a request claims: everybody who can reach this peer is trusted. The caller's map has to
   * say `trustedBus` too. @default false
   */
  trustedBus?: boolean | undefined;
}

/** Whom a request counts for where the transport cannot tell. What a frame says is worth nothing by itself. */
export function identify(
  { authenticate, trustedBus = false }: IdentityRules,
  frame: CallRequested,
): AuthenticatedIdentity | undefined | Promise<AuthenticatedIdentity | undefined> {
  const { token, identity: claim } = frame;
  if (authenticate !== undefined && (typeof token === "string" || claim !== undefined)) {
    return askFor(authenticate, frame, typeof token === "string" ? token : undefined, claim);
  }
  return trustedBus ? claim : undefined;
}

async function askFor(
  authenticate: Authenticate,
  frame: CallRequested,
  token: string | undefined,
  claim: Identity | undefined,
): Promise<AuthenticatedIdentity | undefined> {
  let identity: AuthenticatedIdentity | undefined;
  try {
    identity = (await authenticate(token, claim, frame)) ?? undefined;
  } catch (cause) {
    if (isCallError(cause)) throw cause;
    const { code, message, details } = accessDenied(frame.operationId, "the caller could not be authenticated");
    throw new CallError(code, message, details, { cause, mayHaveRun: false });
  }
  if (expiryOf(identity) <= Date.now()) throw credentialExpired(frame.operationId, false);
  return identity;
}
