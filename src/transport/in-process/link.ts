import { Linked } from "../../internal/linked-set.ts";
import type { CallError } from "../../operation/index.ts";
import {
  type CallRequested,
  type FollowUp,
  isLastReply,
  type ReplyFrame,
  type SendFollowUp,
  type Transport,
  toFailedFrame,
} from "../transport.ts";

/** One call on its way: connects the one who asks with the one who serves until either side ends it. */
export class Link extends Linked {
  readonly asker: Transport;
  readonly server: Transport;
  readonly #frame: CallRequested;
  readonly #onReply: (frame: ReplyFrame) => void;
  #toServer: SendFollowUp | undefined = undefined;
  /** What the asker sent before the server said where to. */
  #early: FollowUp[] | undefined = undefined;
  #isOpen = true;

  constructor(asker: Transport, server: Transport, frame: CallRequested, onReply: (frame: ReplyFrame) => void) {
    super();
    this.asker = asker;
    this.server = server;
    this.#frame = frame;
    this.#onReply = onReply;
  }

  connect(toServer: SendFollowUp): void {
    this.#toServer = toServer;
    if (this.#early !== undefined) for (const frame of this.#early) toServer(frame);
    this.#early = undefined;
  }

  reply(frame: ReplyFrame): void {
    if (!this.#isOpen) return;
    if (isLastReply(frame)) this.#end();
    this.#onReply(frame);
  }

  follow(frame: FollowUp): void {
    if (!this.#isOpen) return;
    if (frame.type === "call.aborted") this.#end();
    this.#tellServer(frame);
  }

  /** Ends the call because a side is gone; the other hears of it. */
  cut(error: CallError): void {
    if (!this.#isOpen) return;
    this.#end();
    const { requestId } = this.#frame;
    this.#tellServer({ type: "call.aborted", requestId, reason: error.message });
    this.#onReply(toFailedFrame(requestId, error));
  }

  #tellServer(frame: FollowUp): void {
    if (this.#toServer !== undefined) this.#toServer(frame);
    else {
      this.#early ??= [];
      this.#early.push(frame);
    }
  }

  #end(): void {
    this.#isOpen = false;
    this.unlink();
  }
}
