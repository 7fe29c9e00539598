import { quote } from "../../internal/text.ts";
import {
  CallError,
  type CallOptions,
  type ForwardedCall,
  type Identity,
  mapError,
  timedOut,
  writeRequestFields,
} from "../../operation/inside.ts";
import type { CallRequested, Transport } from "../../transport/transport.ts";

/** The part of a transport that makes calls. */
export type CallingTransport = Pick<Transport, "name" | "capabilities" | "broadcast" | "request" | "close">;

/** How far the producer of a subscription may be ahead of its consumer: a number of values, and of bytes approximately. */
export const initialCredit = { count: 64, bytes: 1024 * 1024 };

/**
 * Returns the token that proves the identity of a caller to the server. Receives the request that will be sent, so that
 * the token can be limited to this call. If it throws or rejects, the call fails before it is sent.
 */
export type SignIdentity = (identity: Identity, request: Readonly<CallRequested>) => string | Promise<string>;

/** Writes the options of a call into its request. `identity` is the identity that the request carries. */
export function describeCall(frame: CallRequested, options: ForwardedCall, identity: Identity | undefined): void {
  const { parentRequestId, depth, token } = options;
  if (parentRequestId !== undefined) frame.parentRequestId = parentRequestId;
  if (depth !== undefined) frame.depth = depth;
  if (typeof token === "string") frame.token = token;
  if (identity !== undefined) frame.identity = identity;
  writeRequestFields(frame, options);
}

/**
 * Writes the token of an identity into a request, and subtracts the elapsed time from its timeout. Throws or rejects
 * with a `CallError` if `sign` fails or the time is up.
 */
export function signRequest(sign: SignIdentity, identity: Identity, frame: CallRequested): void | Promise<void> {
  let token: string | Promise<string>;
  try {
    token = sign(identity, frame);
  } catch (error) {
    throw notSigned(frame, error);
  }
  if (typeof token === "string") frame.token = token;
  else return awaitToken(frame, checkSigned(frame, token));
}

async function checkSigned(frame: CallRequested, signing: unknown): Promise<string> {
  try {
    const token = await signing;
    if (typeof token === "string") return token;
  } catch (error) {
    throw notSigned(frame, error);
  }
  throw notSigned(frame, new TypeError("sign did not return a string"));
}

/** Writes the token that a function returns into a request. Rejects with `UNAVAILABLE` if the function fails. */
export function writeToken(frame: CallRequested, read: Exclude<CallOptions["token"], string | undefined>) {
  const reading = (async () => read())().catch((cause) => {
    const message = `The token for a call to ${quote(frame.operationId)} is not available.`;
    throw new CallError("UNAVAILABLE", message, undefined, { cause, retryable: true, mayHaveRun: false });
  });
  return awaitToken(frame, reading);
}

/** Writes a token into a request when it is there, and subtracts the elapsed time from the timeout of the request. */
async function awaitToken(frame: CallRequested, reading: Promise<string | undefined>): Promise<void> {
  const startedAt = performance.now();
  const token = await reading;
  if (token !== undefined) frame.token = token;
  if (frame.timeout === undefined) return;
  frame.timeout -= performance.now() - startedAt;
  if (frame.timeout <= 0) throw timedOut(frame.operationId, false);
}

/** Converts an error of `sign` into a `CallError` about the operation. The request was not sent. */
function notSigned({ operationId }: CallRequested, error: unknown): CallError {
  const { code, message, details, retryable } = mapError(error);
  return new CallError(
    code,
    `The identity of a call to ${quote(operationId)} could not be signed: ${message}`,
    details,
    { cause: error, retryable, mayHaveRun: false },
  );
}
