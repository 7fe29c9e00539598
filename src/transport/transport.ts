import { CallError, type Identity, type OperationSpec } from "../operation/index.ts";
import type { CallFailed, CallRequested, FollowUp, PeerEvent, ReplyFrame } from "./frames.ts";
import { Linked } from "./linked-set.ts";

export type {
  CallAborted,
  CallCompleted,
  CallCredited,
  CallFailed,
  CallProgressed,
  CallRequested,
  CallResponded,
  CallRunning,
  FollowUp,
  Frame,
  PeerAnnounced,
  PeerEvent,
  PeerLeft,
  ReplyFrame,
} from "./frames.ts";

/** Sends the later frames of one call. Frames after its end are ignored. */
export type SendFollowUp = (frame: FollowUp) => void;

/**
 * Sends a frame to the caller. If it returns a promise, wait for it before the next frame. Throws or rejects with a
 * `CallError` (`PAYLOAD_TOO_LARGE`, `EXECUTION_ERROR`) when the frame cannot be sent; another frame may be sent
 * instead.
 */
export type Reply = (frame: ReplyFrame) => void | Promise<void>;

/**
 * Runs one request, and returns the function that receives the later frames of that call. Transports keep it until the
 * call has ended, for each caller separately, so that no caller can affect the calls of another. `caller` is the
 * identity that the transport itself has authenticated, never one from a frame. Does not throw.
 */
export type OnRequest = (frame: CallRequested, reply: Reply, caller?: Identity) => SendFollowUp;

/** Stops receiving requests, for these operations or for all. Resolves when none can arrive. Replies are still sent. */
export type StopServing = (operationIds?: readonly string[]) => Promise<void>;

/** Ends a subscription to events. May be called more than once. */
export type Unsubscribe = () => void;

/** Properties of a transport that change how calls are made over it. An absent property is `false`. */
export interface TransportCapabilities {
  /** Frames stay in this process. They cannot be lost, and do not come from a network. */
  readonly staysInProcess?: boolean;
  /**
   * Frames are passed by reference within one process, like arguments of a function: they are neither copied nor
   * checked, and calls have no default timeout. The transport forwards every frame as the same object, because an id
   * may be generated only when it is read, and passes `frame.identity` to `onRequest` as the caller. Implies
   * `staysInProcess`.
   */
  readonly sharesObjects?: boolean;
  /**
   * Only the peer that received a request can reply to it. If false, request ids are random, so that no other peer can
   * guess them.
   */
  readonly authenticatesReplies?: boolean;
  /** Requests carry the identity of their call as a claim, unless `trustedBus` of the caller is `false`. */
  readonly claimsIdentity?: boolean;
  /**
   * The peer identifies the caller by the connection, and checks each call against that identity. A registry that
   * follows such peers does not check their rules for calls of its own process.
   */
  readonly carriesIdentity?: boolean;
}

/** Coordinates servers on a transport where every peer receives every frame, such as an event target. */
export interface Broadcast {
  /** Claims a request for this peer. Returns true for the first peer that claims it. No other peer may run it. */
  claim(requestId: string): boolean;
  /**
   * Returns whether a server has claimed a request. A subscription that is not claimed after the default timeout
   * fails with `TIMEOUT`, because a request for an operation that is not served anywhere stays without a reply.
   */
  isClaimed(requestId: string): boolean;
  /** Sends a reply to every peer. */
  publish(frame: ReplyFrame): void;
  /**
   * Returns the sequence number of the next value of a subscription of any peer, or `undefined` for other requests.
   */
  nextSeq(requestId: string): number | undefined;
}

/** Carries call frames between peers. Frames of one call stay in order. A lost link fails pending calls. */
export interface Transport {
  /** Label for logs and errors, such as `websocket`. */
  readonly name: string;
  /** Properties beyond carrying frames. @default none */
  readonly capabilities?: TransportCapabilities;
  /** Present where every peer receives every frame. */
  readonly broadcast?: Broadcast;

  /**
   * Sends one request and returns the function that sends later frames of the same call. `onReply` receives the replies
   * in order, up to the one that ends the call, and a `call.error` with `UNAVAILABLE` when the link is lost meanwhile.
   * Throws or rejects with `OPERATION_NOT_FOUND` or `UNAVAILABLE` when no peer can run it, `PAYLOAD_TOO_LARGE` when it
   * is too large.
   */
  request(
    operationId: string,
    frame: CallRequested,
    onReply: (frame: ReplyFrame) => void,
  ): SendFollowUp | Promise<SendFollowUp>;

  /** Receives requests for these operations. Each request reaches exactly one of the peers that serve the operation. */
  serve(operationIds: readonly string[], onRequest: OnRequest): Promise<StopServing>;

  /**
   * Receives requests for every operation that no server lists, for handlers that do not list their operations. Absent
   * on transports that route requests by operation id.
   */
  serveUnlisted?(onRequest: OnRequest): Promise<StopServing>;

  /** Announces the operations of this peer to other peers, and replaces its earlier announcement. `[]` withdraws it. */
  announce(specs: readonly OperationSpec[]): Promise<void>;

  /** Reports other peers: first those that are present, then changes. */
  watchPeers(listener: (event: PeerEvent) => void): Unsubscribe;

  /**
   * Resolves when the current peers have announced their operations, as far as they are known, or after a short wait.
   * Called after `watchPeers`. Absent where `watchPeers` reports all peers immediately.
   */
  whenPeersKnown?(): Promise<void>;

  /**
   * Returns whether an operation that no known peer serves may still be served, because the list of peers is
   * incomplete: a link is being restored, or a peer that served the operation has just left and may be restarting.
   * Calls of such an operation fail with `UNAVAILABLE`, not `OPERATION_NOT_FOUND`. @default never
   */
  isIncomplete?(operationId: string): boolean;

  /**
   * Calls `listener` with the error when the link to the broker or server is lost, and with `undefined` when it is
   * restored. Absent where there is no link that is restored.
   */
  onLinkChange?(listener: (error: Error | undefined) => void): Unsubscribe;

  /**
   * Closes the transport: pending requests fail with `UNAVAILABLE`, and served calls receive `call.aborted`. With a
   * `reason`, the link failed for that reason. May be called more than once.
   */
  close(reason?: Error): Promise<void>;
}

/**
 * A call that is an entry in its caller's list of open calls. It is removed from that list when it ends, and ignores
 * later replies, so a transport with `sharesObjects` does not need another object to track it. @internal
 */
export abstract class OpenCall extends Linked {
  /** The transport of the server that runs the call. The caller's transport sets it. */
  declare server: Transport | undefined;
  /** Sends later frames to that server. Set once the request was sent. */
  declare toServer: SendFollowUp | undefined;
  abstract readonly requestId: string;
  abstract receive(reply: ReplyFrame): void;
}

/** Returns whether a reply is the last of its call. */
export function isLastReply(frame: ReplyFrame): boolean {
  switch (frame.type) {
    case "call.responded":
      return frame.seq === undefined;
    case "call.completed":
    case "call.error":
      return true;
    case "call.progressed":
      return false;
  }
}

/** Creates the frame that reports an error. Details are not checked here: the wire rejects unsupported values. */
export function toFailedFrame(requestId: string, error: CallError): CallFailed {
  const { code, message, details, retryable, mayHaveRun } = error;
  const frame: CallFailed = {
    type: "call.error",
    requestId,
    code,
    // The error may be any object, and reporting it must not fail.
    message: typeof message === "string" ? message : "",
    retryable: retryable === true,
    mayHaveRun: mayHaveRun !== false,
  };
  if (details !== undefined) frame.details = details;
  return frame;
}

/** `EXECUTION_ERROR`: the caller has a pending call with the same id, so replies could belong to either call. */
export function requestPending(requestId: string): CallError {
  const message = "A call with the same requestId is pending.";
  return new CallError("EXECUTION_ERROR", message, { requestId }, { mayHaveRun: false });
}

/** `UNAVAILABLE`: the transport was closed, or its link failed with `cause`. */
export function transportClosed(name: string, options: { mayHaveRun: boolean; cause?: unknown }): CallError {
  return new CallError("UNAVAILABLE", `The ${name} transport is closed.`, undefined, { retryable: true, ...options });
}
