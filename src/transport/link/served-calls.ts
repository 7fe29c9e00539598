import { TurnoverMap } from "../../internal/turnover-map.ts";
import { type CallError, limitExceeded } from "../../operation/index.ts";
import type { CallRequested, FollowUp, SendFollowUp } from "../transport.ts";

/** A call that is being run for the other side. */
export interface ServedCall {
  readonly requestId: string;
  readonly operationId: string;
  readonly isSubscription: boolean;
  /** Nothing is sent or heard of it any more. */
  hasEnded: boolean;
  /** Takes what hears later frames; those that came meanwhile are not lost. */
  follow(send: SendFollowUp): void;
}

/** The calls that one connection has asked us to run, and how many it may have. */
export class ServedCalls {
  readonly #calls = new TurnoverMap<string, OpenCall>();
  readonly #limits: { callsPerConnection: number; subscriptionsPerConnection: number };
  #subscriptions = 0;

  constructor(limits: { callsPerConnection: number; subscriptionsPerConnection: number }) {
    this.#limits = limits;
  }

  has(requestId: string): boolean {
    return this.#calls.has(requestId);
  }

  /** Why this request cannot be taken, if it cannot. */
  refusal(frame: CallRequested): CallError | undefined {
    const { callsPerConnection, subscriptionsPerConnection } = this.#limits;
    if (this.#calls.size >= callsPerConnection) {
      return limitExceeded("Too many calls are pending on this connection", "callsPerConnection", callsPerConnection);
    }
    if (frame.credit !== undefined && this.#subscriptions >= subscriptionsPerConnection) {
      return limitExceeded(
        "Too many subscriptions on this connection",
        "subscriptionsPerConnection",
        subscriptionsPerConnection,
      );
    }
    return undefined;
  }

  add(frame: CallRequested): ServedCall {
    const call = new OpenCall(frame);
    this.#calls.set(frame.requestId, call);
    if (call.isSubscription) this.#subscriptions++;
    return call;
  }

  end(call: ServedCall): void {
    if (call.hasEnded) return;
    call.hasEnded = true;
    this.#calls.delete(call.requestId);
    if (call.isSubscription) this.#subscriptions--;
  }

  follow(frame: FollowUp): void {
    const call = this.#calls.get(frame.requestId);
    if (call === undefined) return;
    if (frame.type === "call.aborted") this.end(call);
    call.tell(frame);
  }

  abortAll(reason: string): void {
    for (const [, call] of this.#calls.entries()) this.#abort(call, reason);
  }

  /** Aborts the subscriptions and returns them. */
  abortSubscriptions(reason: string): ServedCall[] {
    const calls = this.#calls.entries().flatMap(([, call]) => (call.isSubscription ? [call] : []));
    for (const call of calls) this.#abort(call, reason);
    return calls;
  }

  #abort(call: OpenCall, reason: string): void {
    this.end(call);
    call.tell({ type: "call.aborted", requestId: call.requestId, reason });
  }
}

class OpenCall implements ServedCall {
  readonly requestId: string;
  readonly operationId: string;
  readonly isSubscription: boolean;
  hasEnded = false;
  #send: SendFollowUp | undefined;
  #early: FollowUp[] | undefined;

  constructor({ requestId, operationId, credit }: CallRequested) {
    this.requestId = requestId;
    this.operationId = operationId;
    this.isSubscription = credit !== undefined;
  }

  follow(send: SendFollowUp): void {
    this.#send = send;
    for (const frame of this.#early ?? []) send(frame);
    this.#early = undefined;
  }

  tell(frame: FollowUp): void {
    if (this.#send !== undefined) this.#send(frame);
    else if (this.#early === undefined) this.#early = [frame];
    else this.#early.push(frame);
  }
}
