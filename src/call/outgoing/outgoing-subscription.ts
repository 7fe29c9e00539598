import { startTimer, type Timer } from "../../internal/timers.ts";
import {
  CallError,
  isResponseEnvelope,
  type ResponseEnvelope,
  restoreData,
  type SubscribeOptions,
  type SubscriptionIterator,
  silentTooLong,
} from "../../operation/inside.ts";
import type { CallCompleted, CallFailed, CallResponded } from "../../transport/transport.ts";
import { withDeadline } from "../deadline.ts";
import { roughSize } from "../rough-size.ts";
import { notAnEnvelope, OutgoingRequest, type RequestHost } from "./outgoing-call.ts";
import { initialCredit } from "./request-frame.ts";

type Result = IteratorResult<ResponseEnvelope, undefined>;
type Waiter = { resolve(result: Result): void; reject(error: unknown): void };

const done: Result = Object.freeze({ done: true, value: undefined });
/**
 * The producer may measure values differently, so the subscription ends only when it has sent this many times its
 * credit in bytes.
 */
const byteTolerance = 4;

/**
 * The consumer's iterator of a subscription over a transport. The request is sent with the first `next()`. The producer
 * may be ahead by as many values as it has credit for. These values are held here, so memory is bounded.
 */
export class OutgoingSubscription implements SubscriptionIterator<ResponseEnvelope> {
  readonly #host: RequestHost;
  readonly #operationId: string;
  readonly #options: SubscribeOptions | undefined;
  #input: unknown;
  #stream: StreamRequest | undefined = undefined;
  #isOver = false;

  constructor(host: RequestHost, operationId: string, input: unknown, options: SubscribeOptions | undefined) {
    this.#host = host;
    this.#operationId = operationId;
    // The timeout of a subscription starts here. Its request is sent with the first `next()`.
    this.#options = options?.timeout === undefined ? options : withDeadline(options);
    this.#input = input;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  next(): Promise<Result> {
    if (this.#isOver) return Promise.resolve(done);
    const isFirst = this.#stream === undefined;
    this.#stream ??= new StreamRequest(this.#host, this.#operationId, this.#options);
    const result = this.#stream.pull();
    if (isFirst) this.#stream.open(this.#input);
    this.#input = undefined;
    return result;
  }

  /** Ends the subscription and notifies the producer. Resolves immediately. */
  async return(): Promise<Result> {
    this.#isOver = true;
    this.#stream?.leave();
    return done;
  }

  async throw(error?: unknown): Promise<Result> {
    await this.return();
    throw error;
  }
}

/** A value that is held for its consumer. */
interface Held {
  readonly envelope: ResponseEnvelope;
  readonly bytes: number;
  readonly isDue: boolean;
}

/** The request of a subscription, and the values that its consumer has not taken yet. */
class StreamRequest extends OutgoingRequest {
  readonly #options: SubscribeOptions | undefined;
  /** Runs while a consumer waits for a value. */
  #idleTimer: Timer | undefined = undefined;
  #claimTimer: Timer | undefined = undefined;
  #values: Held[] = [];
  #heldBytes = 0;
  #waiters: Waiter[] = [];
  /** An error that arrived while no `next()` was waiting. It is reported after the values that arrived before it. */
  #failure: CallError | undefined = undefined;
  #nextSeq = 0;
  /** Number of values that were taken and not yet reported as credit. */
  #taken = 0;
  /** Whether the producer is waiting for credit. */
  #isCreditDue = false;

  constructor(host: RequestHost, operationId: string, options: SubscribeOptions | undefined) {
    super(host, operationId, options?.onProgress);
    this.#options = options;
  }

  get #idleTimeout(): number {
    return this.#options?.idleTimeout ?? Number.POSITIVE_INFINITY;
  }

  open(input: unknown): void {
    this.send(input, this.#options, Number.POSITIVE_INFINITY, true);
    this.#awaitClaim();
  }

  /**
   * Fails a subscription that no server claims in time. If every peer receives every frame, it would otherwise wait
   * forever.
   */
  #awaitClaim(): void {
    const { transport, defaultTimeout } = this.host;
    const { broadcast } = transport;
    if (broadcast === undefined || !this.isOpen || broadcast.isClaimed(this.requestId)) return;
    if (defaultTimeout === Number.POSITIVE_INFINITY) return;
    this.#claimTimer = startTimer(() => {
      if (!broadcast.isClaimed(this.requestId)) this.abandon(notClaimed(this.operationId, defaultTimeout));
    }, defaultTimeout);
  }

  /** Resolves with the next value. */
  pull(): Promise<Result> {
    const held = this.#values.shift();
    if (held !== undefined) {
      this.#heldBytes -= held.bytes;
      this.#repay(held.isDue);
      return Promise.resolve({ done: false, value: held.envelope });
    }
    if (!this.isOpen) {
      const failure = this.#failure;
      this.#failure = undefined;
      return failure === undefined ? Promise.resolve(done) : Promise.reject(failure);
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.#awaitValue();
    });
  }

  /** Ends the subscription for its consumer. A waiting `next()` resolves as done, and held values are dropped. */
  leave(): void {
    this.#values = [];
    this.#failure = undefined;
    if (!this.end()) return;
    this.sendAbort("the consumer ended the subscription");
    this.#finish();
  }

  protected take(frame: CallResponded | CallCompleted | CallFailed): void {
    switch (frame.type) {
      case "call.responded":
        return this.#takeValue(frame);
      case "call.error":
        return this.close(CallError.fromJSON(frame));
      case "call.completed":
        this.end();
        return this.#finish();
    }
  }

  #takeValue({ output: received, seq, creditDue }: CallResponded): void {
    const { sharesObjects } = this.host;
    if (!sharesObjects && !isResponseEnvelope(received)) return this.abandon(notAnEnvelope(this.operationId));
    const output = sharesObjects ? received : restoreData(received);
    if (seq !== undefined && seq !== this.#nextSeq)
      return this.abandon(streamGap(this.operationId, this.#nextSeq, seq));
    this.#nextSeq += 1;
    this.#stopIdleTimer();
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) {
      waiter.resolve({ done: false, value: output });
      this.#repay(creditDue === true);
      if (this.#waiters.length > 0) this.#awaitValue();
    } else if (!this.#hold(output, creditDue === true)) return;
    if (seq !== undefined) return;
    this.end(); // A response without a sequence number is the only one.
    this.#finish();
  }

  /** Holds a value for the consumer. Ends the subscription if the value exceeds the credit. */
  #hold(envelope: ResponseEnvelope, isDue: boolean): boolean {
    const maxBytes = byteTolerance * initialCredit.bytes;
    if (this.#values.length >= initialCredit.count || this.#heldBytes > maxBytes) {
      this.abandon(overflow(this.operationId));
      return false;
    }
    const bytes = roughSize(envelope.data, maxBytes + 1);
    this.#heldBytes += bytes;
    this.#values.push({ envelope, bytes, isDue });
    return true;
  }

  protected fail(error: CallError): void {
    this.#stopIdleTimer();
    const waiter = this.#waiters.shift();
    if (waiter === undefined) this.#failure = error;
    else waiter.reject(error);
    this.#finish();
  }

  override abandon(error: CallError): void {
    if (this.isOpen) this.#values = [];
    super.abandon(error);
  }

  #finish(): void {
    this.#stopIdleTimer();
    this.#claimTimer?.stop();
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter.resolve(done);
  }

  #awaitValue(): void {
    const idleTimeout = this.#idleTimeout;
    if (idleTimeout === Number.POSITIVE_INFINITY) return;
    this.#idleTimer ??= startTimer(() => this.abandon(silentTooLong(this.operationId, idleTimeout)), idleTimeout);
  }

  #stopIdleTimer(): void {
    this.#idleTimer?.stop();
    this.#idleTimer = undefined;
  }

  /**
   * Reports credit when half of it is used, so that one frame covers many values, or when the producer is waiting for
   * it.
   */
  #repay(isDue: boolean): void {
    this.#taken += 1;
    if (isDue) this.#isCreditDue = true;
    this.onReady();
  }

  protected override onReady(): void {
    if (!this.isOpen || (!this.#isCreditDue && this.#taken * 2 < initialCredit.count)) return;
    if (this.toServer === undefined) return;
    this.toServer({ type: "call.credited", requestId: this.requestId, count: this.#taken });
    this.#taken = 0;
    this.#isCreditDue = false;
  }
}

function notClaimed(operationId: string, milliseconds: number): CallError {
  const message = `No server accepted the subscription to "${operationId}" within ${milliseconds} ms.`;
  return new CallError("TIMEOUT", message, { operationId }, { retryable: true, mayHaveRun: false });
}

function streamGap(operationId: string, expected: number, received: number): CallError {
  const message = `Values of "${operationId}" were lost: value ${received} arrived instead of value ${expected}.`;
  return new CallError("STREAM_GAP", message, { operationId, expected, received }, { retryable: true });
}

function overflow(operationId: string): CallError {
  const { count, bytes } = initialCredit;
  const message = `"${operationId}" exceeded its credit of ${count} values or ${bytes} bytes.`;
  return new CallError("OVERFLOW", message, { operationId, credit: count, creditBytes: bytes });
}
