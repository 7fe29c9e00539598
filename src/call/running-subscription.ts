import { startTimer, type Timer } from "../internal/timers.ts";
import {
  type CallError,
  credentialExpired,
  expiryOf,
  type Identity,
  type ResponseEnvelope,
  type SubscribeOptions,
} from "../operation/index.ts";
import { subscribeIncoming } from "../registry/index.ts";
import type { CallRequested, CallResponded, FollowUp, Reply } from "../transport/transport.ts";
import { ByteCredit } from "./byte-credit.ts";
import { identify } from "./identify.ts";
import { type RunningHost, recordOrNothing } from "./running.ts";
import { RunningRequest } from "./running-request.ts";

/** A subscription that runs for somebody outside: asks its handler for values while there is credit. */
export class RunningSubscription extends RunningRequest {
  #values: AsyncIterableIterator<ResponseEnvelope, undefined> | undefined = undefined;
  #credit: number;
  /** Absent when the consumer has not limited the bytes that are on their way. */
  readonly #byteCredit: ByteCredit | undefined;
  #seq = 0;
  #isPumping = false;
  /** Ends the subscription when the credential of its caller expires. */
  #expiry: Timer | undefined = undefined;

  constructor(host: RunningHost, frame: CallRequested, reply: Reply) {
    super(host, frame, reply);
    this.#credit = toCount(frame.credit);
    const bytes = toCount(frame.creditBytes);
    this.#byteCredit = bytes > 0 ? new ByteCredit(bytes) : undefined;
  }

  /** Begins the subscription. Does not throw. */
  async begin(asker: Identity | undefined, deadline: number | undefined): Promise<void> {
    try {
      const identity = asker ?? (await identify(this.host, this.frame));
      if (!this.isOpen) return;
      const { operationId, input } = this.frame;
      this.#endWhenExpired(operationId, expiryOf(identity));
      const metadata = recordOrNothing(this.frame.metadata);
      const options: SubscribeOptions = { identity, metadata, credit: this.#credit };
      if (this.#byteCredit !== undefined) options.creditBytes = this.frame.creditBytes;
      if (deadline !== undefined) options.deadline = deadline;
      this.#values = subscribeIncoming(this.host.registry, operationId, input, options, this);
    } catch (error) {
      return this.#fail(error);
    }
    this.#pump();
  }

  follow(frame: FollowUp): void {
    if (frame.type === "call.credited") {
      const count = toCount(frame.count);
      this.#credit += count;
      this.#byteCredit?.release(count);
      this.#pump();
    } else if (this.leave()) this.#leaveValues();
  }

  endWith(error: CallError): void {
    if (!this.leave()) return;
    this.tellFailure(error);
    this.#leaveValues();
  }

  protected override leave(): boolean {
    this.#expiry?.stop();
    return super.leave();
  }

  #endWhenExpired(operationId: string, expiresAt: number): void {
    if (expiresAt === Number.POSITIVE_INFINITY) return;
    const end = () => this.endWith(credentialExpired(operationId, true));
    this.#expiry = startTimer(end, Math.max(expiresAt - Date.now(), 0), { keepsAlive: false });
  }

  #pump(): void {
    if (!this.#isPumping && this.#values !== undefined) void this.#sendValues(this.#values);
  }

  async #sendValues(values: AsyncIterator<ResponseEnvelope, undefined>): Promise<void> {
    this.#isPumping = true;
    try {
      while (this.isOpen && this.#credit > 0 && this.#byteCredit?.isUsedUp !== true) await this.#sendNext(values);
    } catch (error) {
      this.#leaveValues();
      this.#fail(error);
    }
    // In the turn in which the credit was found to be used up: what comes later starts anew.
    this.#isPumping = false;
  }

  async #sendNext(values: AsyncIterator<ResponseEnvelope, undefined>): Promise<void> {
    const { requestId } = this.frame;
    const { done, value } = await values.next();
    if (!this.isOpen) return;
    if (done) {
      this.leave();
      await this.reply({ type: "call.completed", requestId });
      return;
    }
    this.#credit -= 1;
    const frame: CallResponded = { type: "call.responded", requestId, output: value, seq: this.#seq };
    if (this.#byteCredit?.spend(value.data)) frame.creditDue = true;
    this.#seq += 1;
    const sent = this.reply(frame);
    if (sent !== undefined) await sent;
  }

  #fail(error: unknown): void {
    if (this.leave()) this.tellFailure(error);
  }

  /** Fires the handler's signal and lets it clean up; the registry logs what it throws. */
  #leaveValues(): void {
    this.#values?.return?.().catch(() => {});
  }
}

function toCount(count: unknown): number {
  return Number.isSafeInteger(count) && (count as number) > 0 ? (count as number) : 0;
}
