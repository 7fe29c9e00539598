import { CallError } from "../operation/index.ts";
import {
  type CallRequested,
  isLastReply,
  type OnRequest,
  type Reply,
  type ReplyFrame,
  type SendFollowUp,
  toFailedFrame,
} from "../transport/transport.ts";
import type { CallHandler } from "./call-handler.ts";
import type { RunningRequests } from "./drain.ts";
import { sendError } from "./running.ts";

/** A request that a handler answers through the map. */
interface Recorded {
  readonly frame: CallRequested;
  readonly reply: Reply;
  readonly handler: HandlerRequests;
  /** Takes the later frames of the request. */
  followUp: SendFollowUp | undefined;
  seq: number;
}

/** The requests of handlers that may reply by the methods of the map, by request id. */
export class RecordedRequests {
  readonly #requests = new Map<string, Recorded>();

  /** The frame of a request that has not ended. */
  get(requestId: string): CallRequested | undefined {
    return this.#requests.get(requestId)?.frame;
  }

  /** The number of the next value of a subscription; responses to calls have none. */
  nextSeq(requestId: string): number | undefined {
    const request = this.#requests.get(requestId);
    if (request?.frame.credit === undefined) return undefined;
    request.seq += 1;
    return request.seq - 1;
  }

  /** Sends a reply to a request that has not ended. */
  reply(requestId: string, frame: ReplyFrame): void | Promise<void> {
    const request = this.#requests.get(requestId);
    if (request === undefined) return;
    if (isLastReply(frame)) this.#end(request);
    return request.reply(frame);
  }

  clear(): void {
    this.#requests.clear();
  }

  /** Records the requests of a handler. */
  record(handler: CallHandler): { onRequest: OnRequest; running: RunningRequests } {
    const running = new HandlerRequests(handler, (request) => this.#end(request));
    const onRequest: OnRequest = (frame, reply, asker) => {
      const { requestId } = frame;
      if (this.#requests.has(requestId)) {
        void reply(toFailedFrame(requestId, idInUse(frame)));
        return () => {};
      }
      const request: Recorded = { frame, reply, handler: running, followUp: undefined, seq: 0 };
      this.#requests.set(requestId, request);
      running.add(request);
      const own: Reply = (message) => {
        if (isLastReply(message)) this.#end(request);
        return reply(message);
      };
      request.followUp = handler(frame, own, asker) ?? undefined;
      return (later) => {
        if (later.type === "call.aborted") this.#end(request);
        request.followUp?.(later);
      };
    };
    return { onRequest, running };
  }

  #end(request: Recorded): void {
    const { requestId } = request.frame;
    if (this.#requests.get(requestId) === request) this.#requests.delete(requestId);
    request.handler.delete(request);
  }
}

class HandlerRequests implements RunningRequests {
  readonly #handler: CallHandler;
  readonly #onEnd: (request: Recorded) => void;
  readonly #open = new Set<Recorded>();
  #waiting: Array<() => void> = [];

  constructor(handler: CallHandler, onEnd: (request: Recorded) => void) {
    this.#handler = handler;
    this.#onEnd = onEnd;
  }

  add(request: Recorded): void {
    this.#open.add(request);
  }

  delete(request: Recorded): void {
    this.#open.delete(request);
    if (this.#open.size > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  end(which: "subscriptions" | "all", toError: (operationId: string) => CallError): void {
    for (const request of [...this.#open]) {
      const { requestId, operationId, credit } = request.frame;
      if (which === "subscriptions" && credit === undefined) continue;
      this.#onEnd(request);
      const error = toError(operationId);
      sendError(request.reply, request.frame, error);
      request.followUp?.({ type: "call.aborted", requestId, reason: error.message });
    }
  }

  async settled(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    await this.#handler.settled?.();
  }
}

function idInUse({ operationId }: CallRequested): CallError {
  const message = `The request id of "${operationId}" is in use.`;
  return new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
}
