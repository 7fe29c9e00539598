import { quote } from "../internal/text.ts";
import { CallError, type Identity, mapError } from "../operation/index.ts";
import type { CallRequested } from "../transport/transport.ts";

/**
 * Makes the token that shows the serving side for whom a call is made. Gets the request as it will be sent, so that the
 * token can be made for this one call. Throwing, or rejecting, fails the call before anything was sent.
 */
export type SignIdentity = (identity: Identity, request: Readonly<CallRequested>) => string | Promise<string>;

/** Puts a token into a request. Throws or rejects with a `CallError` when there is none to be had. */
export function signRequest(sign: SignIdentity, identity: Identity, frame: CallRequested): void | Promise<void> {
  let token: string | Promise<string>;
  try {
    token = sign(identity, frame);
  } catch (error) {
    throw notSigned(frame, error);
  }
  if (typeof token === "string") frame.token = token;
  else return putToken(frame, token);
}

async function putToken(frame: CallRequested, signing: unknown): Promise<void> {
  let token: unknown;
  try {
    token = await signing;
  } catch (error) {
    throw notSigned(frame, error);
  }
  if (typeof token !== "string") throw notSigned(frame, new TypeError("sign gave no text"));
  frame.token = token;
}

/** Whatever went wrong, nothing was sent. */
function notSigned({ operationId }: CallRequested, error: unknown): CallError {
  const { code, message, details, retryable } = mapError(error);
  return new CallError(
    code,
    `The identity of a call to ${quote(operationId)} could not be signed: ${message}`,
    details,
    { cause: error, retryable, mayHaveRun: false },
  );
}
