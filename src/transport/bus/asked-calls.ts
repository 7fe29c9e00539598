import { TurnoverMap } from "../../internal/turnover-map.ts";
import { CallError, limitExceeded } from "../../operation/index.ts";
import { isLastReply, type ReplyFrame, toFailedFrame } from "../transport.ts";

/** A call that somebody else was asked for. */
export class AskedCall {
  readonly operationId: string;
  readonly onReply: (frame: ReplyFrame) => void;
  /** What the engine knows it by. */
  ticket: unknown = undefined;
  /** Where the peer is that runs it, once that is known. */
  worker: string | undefined = undefined;
  /** Credit that waits until the worker is known. */
  heldCredit = 0;
  /** Has waited for so long that it is worth asking whether somebody still works on it. */
  isOld = false;

  constructor(operationId: string, onReply: (frame: ReplyFrame) => void) {
    this.operationId = operationId;
    this.onReply = onReply;
  }
}

/** The calls that others were asked for and that have not ended, by request id. */
export class AskedCalls {
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
    if (isLastReply(frame)) this.#calls.delete(frame.requestId);
    call.onReply(frame);
    return true;
  }

  fail(requestId: string, error: CallError): void {
    this.take(toFailedFrame(requestId, error));
  }

  /** A copy, so that calls may end meanwhile. */
  entries(): Array<[requestId: string, call: AskedCall]> {
    return this.#calls.entries();
  }
}
