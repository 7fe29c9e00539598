import { TurnoverMap } from "../../internal/turnover-map.ts";
import { type CallError, limitExceeded } from "../../operation/index.ts";
import type { CallRequested, FollowUp, SendFollowUp } from "../transport.ts";

/** How much one asker may have run at once. */
export interface ServedLimits {
  callsPerConnection: number;
  subscriptionsPerConnection: number;
}

/** A call that runs for somebody at `from`. */
export class ServedCall {
  readonly from: string;
  readonly requestId: string;
  readonly isSubscription: boolean;
  /** What the engine wants to hear about when the call has ended. */
  readonly receipt: unknown;
  hasEnded = false;
  /** Has run for so long that it is worth asking whether somebody still waits. */
  isOld = false;
  #send: SendFollowUp | undefined = undefined;
  #early: FollowUp[] | undefined = undefined;

  constructor(from: string, { requestId, credit }: CallRequested, receipt: unknown) {
    this.from = from;
    this.requestId = requestId;
    this.isSubscription = credit !== undefined;
    this.receipt = receipt;
  }

  /** Takes what hears later frames; those that came meanwhile are not lost. */
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

interface Asker {
  readonly calls: TurnoverMap<string, ServedCall>;
  subscriptions: number;
}

/** The calls that run for others, by who asked: nobody can touch the calls of another. */
export class ServedCalls {
  readonly #askers = new Map<string, Asker>();
  readonly #limits: ServedLimits;

  constructor(limits: ServedLimits) {
    this.#limits = limits;
  }

  get(from: string, requestId: string): ServedCall | undefined {
    return this.#askers.get(from)?.calls.get(requestId);
  }

  /** Why this request cannot be taken, if it cannot. */
  refusal(from: string, frame: CallRequested): CallError | undefined {
    const asker = this.#askers.get(from);
    if (asker === undefined) return undefined;
    const { callsPerConnection, subscriptionsPerConnection } = this.#limits;
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

  add(from: string, frame: CallRequested, receipt: unknown): ServedCall {
    let asker = this.#askers.get(from);
    if (asker === undefined) {
      asker = { calls: new TurnoverMap(), subscriptions: 0 };
      this.#askers.set(from, asker);
    }
    const call = new ServedCall(from, frame, receipt);
    asker.calls.set(call.requestId, call);
    if (call.isSubscription) asker.subscriptions++;
    return call;
  }

  /** True for the first to say so. */
  end(call: ServedCall): boolean {
    if (call.hasEnded) return false;
    call.hasEnded = true;
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
