import { TurnoverMap } from "../../internal/turnover-map.ts";
import { type CallError, limitExceeded } from "../../operation/index.ts";
import type { CallRequested, FollowUp, SendFollowUp } from "../transport.ts";
import { attemptOf } from "./call-refs.ts";

/** How much may run at once, for all askers and for each. */
export interface ServedLimits {
  pendingCalls: number;
  callsPerConnection: number;
  subscriptionsPerConnection: number;
}

/** A call that runs for somebody at `from`. */
export class ServedCall {
  readonly from: string;
  readonly requestId: string;
  readonly operationId: string;
  readonly isSubscription: boolean;
  /** Above 0 when other workers were lost with this call before. */
  readonly attempt: number;
  /** The tick at which it came. */
  readonly takenAt: number;
  hasEnded = false;
  /** Whether its caller knows that it is here. */
  isAcknowledged = false;
  #send: SendFollowUp | undefined = undefined;
  #earlyCredit = 0;
  #earlyAbort: FollowUp | undefined = undefined;

  constructor(from: string, frame: CallRequested, takenAt: number) {
    const { requestId, operationId, credit } = frame;
    this.from = from;
    this.requestId = requestId;
    this.operationId = operationId;
    this.isSubscription = credit !== undefined;
    this.attempt = attemptOf(frame);
    this.takenAt = takenAt;
  }

  /** Takes what hears later frames; what came meanwhile is not lost. */
  follow(send: SendFollowUp): void {
    this.#send = send;
    if (this.#earlyCredit > 0) send({ type: "call.credited", requestId: this.requestId, count: this.#earlyCredit });
    if (this.#earlyAbort !== undefined) send(this.#earlyAbort);
  }

  tell(frame: FollowUp): void {
    if (this.#send !== undefined) this.#send(frame);
    else if (frame.type === "call.aborted") this.#earlyAbort = frame;
    else this.#earlyCredit = Math.min(this.#earlyCredit + frame.count, Number.MAX_SAFE_INTEGER);
  }
}

interface Asker {
  readonly calls: TurnoverMap<string, ServedCall>;
  subscriptions: number;
}

/** The calls that run for others, by who asked: nobody can touch the calls of another. */
export class ServedCalls {
  readonly #askers = new Map<string, Asker>();
  readonly #limits: ServedLimits;
  #size = 0;

  constructor(limits: ServedLimits) {
    this.#limits = limits;
  }

  get(from: string, requestId: string): ServedCall | undefined {
    return this.#askers.get(from)?.calls.get(requestId);
  }

  /** Why this request cannot be taken, if it cannot. */
  refusal(from: string, frame: CallRequested): CallError | undefined {
    const { pendingCalls, callsPerConnection, subscriptionsPerConnection } = this.#limits;
    // Anybody can make up any number of askers.
    if (this.#size >= pendingCalls) return limitExceeded("Too many calls are pending", "pendingCalls", pendingCalls);
    const asker = this.#askers.get(from);
    if (asker === undefined) return undefined;
    if (asker.calls.size >= callsPerConnection) {
      return limitExceeded("Too many calls are pending for this peer", "callsPerConnection", callsPerConnection);
    }
    if (frame.credit === undefined || asker.subscriptions < subscriptionsPerConnection) return undefined;
    return limitExceeded(
      "Too many subscriptions are open for this peer",
      "subscriptionsPerConnection",
      subscriptionsPerConnection,
    );
  }

  add(from: string, frame: CallRequested, takenAt: number): ServedCall {
    let asker = this.#askers.get(from);
    if (asker === undefined) {
      asker = { calls: new TurnoverMap(), subscriptions: 0 };
      this.#askers.set(from, asker);
    }
    const call = new ServedCall(from, frame, takenAt);
    this.#size++;
    asker.calls.set(call.requestId, call);
    if (call.isSubscription) asker.subscriptions++;
    return call;
  }

  /** True for the first to say so. */
  end(call: ServedCall): boolean {
    if (call.hasEnded) return false;
    call.hasEnded = true;
    this.#size--;
    const asker = this.#askers.get(call.from);
    if (asker === undefined) return true;
    asker.calls.delete(call.requestId);
    if (call.isSubscription) asker.subscriptions--;
    if (asker.calls.size === 0) this.#askers.delete(call.from);
    return true;
  }

  /** All of them, or those of one asker. The list is a copy. */
  list(from?: string): ServedCall[] {
    const asker = from === undefined ? undefined : this.#askers.get(from);
    const askers = from === undefined ? [...this.#askers.values()] : asker === undefined ? [] : [asker];
    return askers.flatMap(({ calls }) => calls.entries().map(([, call]) => call));
  }
}
