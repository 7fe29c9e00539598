import { monotonicNow } from "../../internal/deadlines.ts";
import { quote } from "../../internal/text.ts";
import { CallError, type Identity, mapError, type Progress, timedOut } from "../../operation/index.ts";
import type { CallRequested, Transport } from "../../transport/transport.ts";

/** The part of a transport that makes calls. */
export type CallingTransport = Pick<Transport, "name" | "capabilities" | "broadcast" | "request" | "close">;

/** Options of a call over a transport. */
export interface CallRequestOptions {
  /** When the call fails with `TIMEOUT`, in milliseconds since the epoch. The frame carries the remaining time. */
  deadline?: number | undefined;
  /**
   * Time in ms after which the call fails with `TIMEOUT`. The earlier of this and `deadline` applies. `Infinity` for no
   * limit.
   */
  timeout?: number | undefined;
  /** Passed to `authenticate` of the server: a string, or a function that returns it. */
  token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /**
   * Identity on whose behalf the call is made. It is trusted in process. Over a transport, the map's `sign` converts it
   * into a token, or it is sent as a claim if both ends set `trustedBus`. Otherwise it is not sent.
   */
  identity?: Identity | undefined;
  /** Passed to the handler as `context.metadata`. */
  metadata?: Readonly<Record<string, unknown>> | undefined;
  /** Aborts the call, which then fails with `ABORTED`, and notifies the server. */
  signal?: AbortSignal | undefined;
  /** Id of the call whose handler makes this call. */
  parentRequestId?: string | undefined;
  /** Receives the progress that the handler reports with `context.progress()`. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** Options that an imported operation adds for the call that it forwards. */
export interface ForwardedOptions extends CallRequestOptions {
  depth?: number | undefined;
  credit?: number | undefined;
  creditBytes?: number | undefined;
  lastEventId?: string | undefined;
  isRemote?: boolean | undefined;
}

/** Options of a subscription over a transport. */
export interface SubscribeRequestOptions extends CallRequestOptions {
  /**
   * Maximum wait for a value, in ms, before the subscription fails with `TIMEOUT`; `Infinity` for no limit. @default no
   * limit
   */
  idleTimeout?: number | undefined;
  /** Number of values that the producer may be ahead of the consumer, 1 to 1,000. @default 64 */
  credit?: number | undefined;
  /**
   * Approximate number of bytes that the producer may be ahead of the consumer, at least 1; `Infinity` for no limit. A
   * single value may exceed it, so that large values are sent one at a time. @default 1 MiB
   */
  creditBytes?: number | undefined;
  /** Id of the last event that was received from an earlier subscription, for handlers that can resume. */
  lastEventId?: string | undefined;
}

/** Limits how far the producer of a subscription may be ahead of its consumer. */
export interface Credit {
  /** Number of values. */
  readonly count: number;
  /** Number of bytes; `Infinity` for no limit. */
  readonly bytes: number;
}

/**
 * Returns the token that proves the identity of a caller to the server. Receives the request that will be sent, so that
 * the token can be limited to this call. If it throws or rejects, the call fails before it is sent.
 */
export type SignIdentity = (identity: Identity, request: Readonly<CallRequested>) => string | Promise<string>;

/** Writes the options of a call into its request. `identity` is the identity that the request carries. */
export function describeCall(frame: CallRequested, options: ForwardedOptions, identity: Identity | undefined): void {
  const { parentRequestId, depth, token, metadata, lastEventId } = options;
  if (parentRequestId !== undefined) frame.parentRequestId = parentRequestId;
  if (depth !== undefined) frame.depth = depth;
  if (typeof token === "string") frame.token = token;
  if (identity !== undefined) frame.identity = identity;
  if (metadata !== undefined) frame.metadata = metadata;
  if (lastEventId !== undefined) frame.lastEventId = lastEventId;
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
export function writeToken(frame: CallRequested, read: Exclude<CallRequestOptions["token"], string | undefined>) {
  const reading = (async () => read())().catch((cause) => {
    const message = `The token for a call to ${quote(frame.operationId)} is not available.`;
    throw new CallError("UNAVAILABLE", message, undefined, { cause, retryable: true, mayHaveRun: false });
  });
  return awaitToken(frame, reading);
}

/** Writes a token into a request when it is there, and subtracts the elapsed time from the timeout of the request. */
async function awaitToken(frame: CallRequested, reading: Promise<string | undefined>): Promise<void> {
  const startedAt = monotonicNow();
  const token = await reading;
  if (token !== undefined) frame.token = token;
  if (frame.timeout === undefined) return;
  frame.timeout -= monotonicNow() - startedAt;
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
