import { startTimer, type Timer } from "../internal/timers.ts";
import {
  type CallError,
  credentialEnded,
  expiryOf,
  type Identity,
  type ResponseEnvelope,
  type SubscribeOptions,
  type SubscriptionIterator,
} from "../operation/inside.ts";
import { Subscription } from "../registry/inside.ts";
import type { CallCompleted, CallRequested, CallResponded, FollowUp, Reply } from "../transport/transport.ts";
import { IncomingRequest, type RequestRunner, readRequestFields } from "./incoming-request.ts";
import { roughSize } from "./rough-size.ts";

/** A subscription that runs for a remote caller. It requests values from its handler while there is credit. */
export class IncomingSubscription extends IncomingRequest {
  #values: SubscriptionIterator<ResponseEnvelope> | undefined = undefined;
  #credit: number;
  /** Absent if the caller has not limited the bytes that are sent and not yet consumed. */
  readonly #byteCredit: ByteCredit | undefined;
  #seq = 0;
  #isPumping = false;
  /** Ends the subscription when the credential of its caller expires. */
  #expiry: Timer | undefined = undefined;

  constructor(host: RequestRunner, frame: CallRequested, reply: Reply, caller?: Identity) {
    super(host, frame, reply, caller);
    this.#credit = toCount(frame.credit);
    const bytes = toCount(frame.creditBytes);
    this.#byteCredit = bytes > 0 ? new ByteCredit(bytes) : undefined;
  }

  /** Starts the subscription. Does not throw. */
  async begin(caller: Identity | undefined, deadline: number | undefined): Promise<void> {
    try {
      const identity = caller ?? (await this.identify());
      if (!this.isOpen) return;
      const { operationId, input } = this.frame;
      this.#endWhenExpired(operationId, expiryOf(identity));
      const options: SubscribeOptions = { ...readRequestFields(this.frame), identity };
      if (deadline !== undefined) options.deadline = deadline;
      this.#values = new Subscription(this.host.core, operationId, input, options, this).values;
    } catch (error) {
      return this.#fail(error);
    }
    this.#pump();
  }

  override receive(frame: FollowUp): void {
    if (frame.type === "call.credited") {
      const count = toCount(frame.count);
      this.#credit += count;
      this.#byteCredit?.release(count);
      this.#pump();
    } else if (this.leave()) this.#leaveValues();
  }

  override endWith(error: CallError): void {
    if (!this.leave()) return;
    this.sendFailure(error);
    this.#leaveValues();
  }

  protected override leave(): boolean {
    this.#expiry?.stop();
    return super.leave();
  }

  #endWhenExpired(operationId: string, expiresAt: number): void {
    if (expiresAt === Number.POSITIVE_INFINITY) return;
    const end = () => this.endWith(credentialEnded(operationId, "expired", true));
    this.#expiry = startTimer(end, Math.max(expiresAt - Date.now(), 0), { keepsAlive: false });
  }

  #pump(): void {
    if (!this.#isPumping && this.#values !== undefined) void this.#sendValues(this.#values);
  }

  /** One async function, because each one that is waiting takes memory for as long as the subscription is idle. */
  async #sendValues(values: AsyncIterator<ResponseEnvelope, undefined>): Promise<void> {
    this.#isPumping = true;
    try {
      while (this.isOpen && this.#credit > 0 && this.#byteCredit?.isUsedUp !== true) {
        const { done, value } = await values.next();
        if (!this.isOpen) break;
        const sent = done ? this.#complete() : this.#sendValue(value);
        if (sent !== undefined) await sent;
      }
    } catch (error) {
      this.#leaveValues();
      this.#fail(error);
    }
    // Clear this in the same turn in which the credit was used up, so that credit that arrives later starts the loop
    // again.
    this.#isPumping = false;
  }

  #complete(): void | Promise<void> {
    this.leave();
    return this.send({ type: "call.completed", requestId: this.frame.requestId });
  }

  #sendValue(envelope: ResponseEnvelope): void | Promise<void> {
    const { outcome } = this.host;
    const output = outcome === undefined ? envelope : outcome.toEnvelope(envelope);
    this.#credit -= 1;
    const frame: CallResponded = { type: "call.responded", requestId: this.frame.requestId, output, seq: this.#seq };
    if (this.#byteCredit?.spend(output.data)) frame.creditDue = true;
    this.#seq += 1;
    return this.send(frame);
  }

  protected send(frame: CallResponded | CallCompleted): void | Promise<void> {
    return this.reply(frame);
  }

  #fail(error: unknown): void {
    if (this.leave()) this.sendFailure(error);
  }

  /** Fires the handler's signal and lets the handler clean up. The registry logs its errors. */
  #leaveValues(): void {
    this.#values?.return?.().catch(() => {});
  }
}

function toCount(count: unknown): number {
  return Number.isSafeInteger(count) && (count as number) > 0 ? (count as number) : 0;
}

/**
 * Limits the bytes of values that are sent and not yet consumed. Values are released in the order in which they were
 * sent, so only the server has to measure them.
 */
class ByteCredit {
  readonly #allowed: number;
  /** The sizes of values that were sent and not yet consumed, from `#first` on. */
  #sizes: number[] = [];
  #first = 0;
  #used = 0;
  #sinceDue = 0;

  /** @param allowed - Maximum number of bytes. A single value may exceed it. */
  constructor(allowed: number) {
    this.#allowed = allowed;
  }

  get isUsedUp(): boolean {
    return this.#used >= this.#allowed;
  }

  /**
   * Counts a value that is sent. Returns true if the caller has to confirm its consumption: after half of the bytes,
   * and before a pause.
   */
  spend(value: unknown): boolean {
    const size = roughSize(value, this.#allowed);
    this.#sizes.push(size);
    this.#used += size;
    this.#sinceDue += size;
    if (!this.isUsedUp && 2 * this.#sinceDue < this.#allowed) return false;
    this.#sinceDue = 0;
    return true;
  }

  /** Releases the bytes of values that the caller has consumed. */
  release(count: number): void {
    const end = Math.min(this.#first + count, this.#sizes.length);
    for (; this.#first < end; this.#first++) this.#used -= this.#sizes[this.#first]!;
    if (this.#first < this.#sizes.length) return;
    this.#sizes = [];
    this.#first = 0;
    this.#used = 0;
  }
}
