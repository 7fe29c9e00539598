import { TurnoverMap } from "../../internal/turnover-map.ts";
import { CallError, limitExceeded } from "../../operation/index.ts";
import { isLastReply, type ReplyFrame, toFailedFrame } from "../transport.ts";
import { attemptOf } from "./call-refs.ts";

/** A call that somebody else was asked for. */
export class AskedCall {
  readonly operationId: string;
  readonly onReply: (frame: ReplyFrame) => void;
  /** The request as it was sent, to be sent to another worker. */
  readonly text: string;
  isSubscription = false;
  /** What the engine knows it by. */
  ticket: unknown = undefined;
  /** Where the peer is that runs it, once that is known. */
  worker: string | undefined = undefined;
  /** Credit that waits until the worker is known. */
  heldCredit = 0;
  /** The tick at which it was sent, or at which its worker last gave a sign of life. */
  heardAt: number;
  /** How often it was sent to another worker. */
  attempt = 0;
  /** How many workers that may have started it were lost. */
  lostWorkers = 0;
  /** Whether another worker that serves the operation has said that it may run more than once. */
  isMovable = false;
  /** Whether the engine was asked to take the request back. */
  isRecalled = false;

  constructor(operationId: string, onReply: (frame: ReplyFrame) => void, text: string, sentAt: number) {
    this.operationId = operationId;
    this.onReply = onReply;
    this.text = text;
    this.heardAt = sentAt;
  }
}

/** The calls that others were asked for and that have not ended, by request id. */
export class AskedCalls {
  /** Counts how often the calls were looked at. */
  tick = 0;
  readonly #calls = new TurnoverMap<string, AskedCall>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(requestId: string): AskedCall | undefined {
    return this.#calls.get(requestId);
  }

  /** Throws when there are enough, or one of that id. */
  add(requestId: string, call: AskedCall): void {
    if (this.#calls.size >= this.#limit) {
      throw limitExceeded("Too many calls are pending on this transport", "callsPerConnection", this.#limit);
    }
    if (this.#calls.has(requestId)) {
      const message = "A call with the same requestId is pending.";
      throw new CallError("EXECUTION_ERROR", message, { requestId }, { mayHaveRun: false });
    }
    this.#calls.set(requestId, call);
  }

  delete(requestId: string): void {
    this.#calls.delete(requestId);
  }

  /** Passes a reply on. False when nobody waits for it. */
  take(frame: ReplyFrame): boolean {
    const call = this.#calls.get(frame.requestId);
    if (call === undefined) return false;
    if (call.attempt > 0 && frame.type === "call.error") {
      // An earlier worker of this call may fail it when another one works on it.
      if (attemptOf(frame) !== call.attempt) return false;
      frame.mayHaveRun = true;
    }
    if (isLastReply(frame)) this.#calls.delete(frame.requestId);
    else call.heardAt = this.tick;
    call.onReply(frame);
    return true;
  }

  fail(requestId: string, error: CallError): void {
    const call = this.#calls.get(requestId);
    if (call === undefined) return;
    this.#calls.delete(requestId);
    call.onReply(toFailedFrame(requestId, error));
  }

  /** A copy, so that calls may end meanwhile. */
  entries(): Array<[requestId: string, call: AskedCall]> {
    return this.#calls.entries();
  }
}
