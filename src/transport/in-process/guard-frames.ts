import type { CallError } from "../../operation/index.ts";
import {
  type CallRequested,
  type FollowUp,
  isLastReply,
  type OnRequest,
  type ReplyFrame,
  type SendFollowUp,
  toFailedFrame,
} from "../transport.ts";
import { LocalRequest } from "./local-request.ts";

/** Ends a call because a side is gone; both sides hear of it. */
export function cut(request: LocalRequest, error: CallError): void {
  const { requestId, toServer, onReply } = request;
  request.unlink();
  toServer?.({ type: "call.aborted", requestId, reason: error.message });
  onReply?.(toFailedFrame(requestId, error));
}

/**
 * Makes a request of any other frame, and sees to it that nothing passes in either direction once the call has ended:
 * what comes from outside the call protocol may not.
 */
export function guardFrames(
  frame: CallRequested,
  onReply: (frame: ReplyFrame) => void,
  onRequest: OnRequest,
): { request: LocalRequest; onReply(frame: ReplyFrame): void; onRequest: OnRequest } {
  const request = Object.assign(new LocalRequest(frame.requestId, frame.operationId, frame.input), frame);
  let isOpen = true;
  const end = () => {
    isOpen = false;
    request.unlink();
  };
  return {
    request,
    onReply(reply) {
      if (!isOpen) return;
      if (isLastReply(reply)) end();
      onReply(reply);
    },
    onRequest(_frame, reply, asker): SendFollowUp {
      const early: FollowUp[] = [];
      let toServer: SendFollowUp = (followUp) => early.push(followUp);
      const send: SendFollowUp = (followUp) => {
        if (!isOpen) return;
        if (followUp.type === "call.aborted") end();
        toServer(followUp);
      };
      toServer = onRequest(frame, reply, asker);
      for (const followUp of early) toServer(followUp);
      return send;
    },
  };
}
