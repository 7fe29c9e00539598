import { type CallError, overloaded } from "../../operation/inside.ts";
import { isLastReply, type ReplyFrame, requestPending, toFailedFrame } from "../transport.ts";
import { TurnoverMap } from "../turnover-map.ts";

/** Identifies a call in frames that refer to several calls. */
export interface CallRef {
  requestId: string;
}

/** Maximum number of pending calls of one connection, in each direction. */
export const maxPendingCalls = 10_000;
/** Maximum number of references in one message. Smaller messages contain fewer. */
const maxRefsPerMessage = 500;
const maxIdLength = 256;
/** Upper bound for the size of a reference, in bytes. */
const maxRefBytes = 400;

/** Reads the references in a frame. Returns `undefined` when they are malformed. */
export function readCallRefs(value: unknown): CallRef[] | undefined {
  if (!Array.isArray(value) || value.length > maxRefsPerMessage || !value.every(isCallRef)) return undefined;
  return value.map(({ requestId }) => ({ requestId }));
}

/** Splits a list of calls into parts whose references fit into one message of `maxMessage` bytes. */
export function* splitRefs<T>(calls: readonly T[], maxMessage: number): Iterable<T[]> {
  const count = Math.max(1, Math.min(maxRefsPerMessage, Math.floor(maxMessage / maxRefBytes)));
  for (let start = 0; start < calls.length; start += count) yield calls.slice(start, start + count);
}

function isCallRef(value: unknown): value is CallRef {
  const { requestId } = (value ?? {}) as Partial<CallRef>;
  return typeof requestId === "string" && requestId.length > 0 && requestId.length <= maxIdLength;
}

/** A call that this peer has made and whose last reply has not arrived. */
export interface SentCall {
  readonly onReply: (frame: ReplyFrame) => void;
}

/** The pending calls that this peer has made over one connection or broker, by request id. */
export class OutgoingCalls<Call extends SentCall = SentCall> extends TurnoverMap<string, Call> {
  /** Adds a call. Throws `LIMIT_EXCEEDED`, or `EXECUTION_ERROR` when a call with the same id is pending. */
  add(requestId: string, call: Call): void {
    if (this.size >= maxPendingCalls) {
      throw overloaded("Too many calls are pending on this connection", maxPendingCalls);
    }
    if (this.get(requestId) !== undefined) throw requestPending(requestId);
    this.set(requestId, call);
  }

  /** Passes a reply to its call. Replies to calls that have ended are ignored. */
  deliver(frame: ReplyFrame, call: Call | undefined = this.get(frame.requestId)): void {
    if (call === undefined) return;
    if (isLastReply(frame)) this.delete(frame.requestId);
    call.onReply(frame);
  }

  fail(requestId: string, error: CallError): void {
    this.deliver(toFailedFrame(requestId, error));
  }

  /** Returns whether this peer still waits for a call. */
  isWaitingFor({ requestId }: CallRef): boolean {
    return this.get(requestId) !== undefined;
  }
}
