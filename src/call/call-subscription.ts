import { type Expiring, expireAt, monotonicNow } from "../internal/deadlines.ts";
import { Linked } from "../internal/linked-set.ts";
import { roughSize } from "../internal/rough-size.ts";
import {
  CallError,
  checkSubscribeOptions,
  isResponseEnvelope,
  type ResponseEnvelope,
  restoreData,
  silentTooLong,
} from "../operation/index.ts";
import type { CallCompleted, CallFailed, CallResponded } from "../transport/transport.ts";
import { type Credit, OpenRequest, type RequestHost } from "./open-request.ts";
import { badReply } from "./pending-call.ts";
import type { SubscribeRequestOptions } from "./request-options.ts";

type Result = IteratorResult<ResponseEnvelope, undefined>;
type Waiter = { resolve(result: Result): void; reject(error: unknown): void };

const done: Result = Object.freeze({ done: true, value: undefined });
const defaultCredit = 64;
/** More values than this are not held for a consumer, whatever it asks for. */
const maxCredit = 1_000;
const defaultCreditBytes = 1024 * 1024;
/** A producer that measures values otherwise than this side is not cut off before it has sent so many times its credit. */
const byteTolerance = 4;

/**
 * The consumer's side of a subscription that travels. The request is sent with the first `next()`. The producer may be
 * ahead by as many values as it has credit for; those are held here, so memory is bounded.
 */
export class CallSubscription implements AsyncIterableIterator<ResponseEnvelope, undefined>, AsyncDisposable {
  readonly #host: RequestHost;
  readonly #operationId: string;
  readonly #options: SubscribeRequestOptions | undefined;
  #input: unknown;
  #stream: Stream | undefined = undefined;
  #isOver = false;

  constructor(host: RequestHost, operationId: string, input: unknown, options: SubscribeRequestOptions | undefined) {
    this.#host = host;
    this.#operationId = operationId;
    this.#options = options;
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
    this.#stream ??= new Stream(this.#host, this.#operationId, this.#options);
    const result = this.#stream.pull();
    if (isFirst) this.#stream.open(this.#input);
    this.#input = undefined;
    return result;
  }

  /** Ends the subscription and tells the producer. Resolves at once. */
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

class IdleWatch extends Linked implements Expiring {
  readonly #stream: Stream;

  constructor(stream: Stream) {
    super();
    this.#stream = stream;
  }

  expire(): void {
    this.#stream.giveUp(silentTooLong(this.#stream.operationId, this.#stream.idleTimeout));
  }
}

/** Ends a subscription that no server has claimed within the default timeout. */
class ClaimWatch extends Linked implements Expiring {
  readonly #stream: Stream;

  constructor(stream: Stream) {
    super();
    this.#stream = stream;
  }

  expire(): void {
    const { operationId, requestId, host } = this.#stream;
    if (host.transport.isClaimed?.(requestId) !== false) return;
    this.#stream.giveUp(notClaimed(operationId, host.defaultTimeout));
  }
}

/** A value that waits for its consumer. */
interface Held {
  readonly envelope: ResponseEnvelope;
  readonly bytes: number;
  readonly isDue: boolean;
}

class Stream extends OpenRequest {
  readonly #options: SubscribeRequestOptions | undefined;
  readonly #credit: Credit;
  readonly #idle: IdleWatch | undefined;
  #claim: ClaimWatch | undefined = undefined;
  #values: Held[] = [];
  #heldBytes = 0;
  #waiters: Waiter[] = [];
  /** An error that nobody was waiting for; comes after the values that came before it. */
  #failure: CallError | undefined = undefined;
  #nextSeq = 0;
  /** Values that were taken and not yet told as credit. */
  #taken = 0;
  /** Whether the producer waits to be told. */
  #isDue = false;

  constructor(host: RequestHost, operationId: string, options: SubscribeRequestOptions | undefined) {
    super(host, operationId, options?.onProgress);
    this.#options = options;
    const count = Math.min(Math.max(Math.trunc(options?.credit ?? defaultCredit) || 1, 1), maxCredit);
    this.#credit = { count, bytes: options?.creditBytes ?? defaultCreditBytes };
    if (this.idleTimeout < Number.POSITIVE_INFINITY) this.#idle = new IdleWatch(this);
  }

  get idleTimeout(): number {
    return this.#options?.idleTimeout ?? Number.POSITIVE_INFINITY;
  }

  open(input: unknown): void {
    const invalid = checkSubscribeOptions(this.operationId, this.#options);
    if (invalid !== undefined) return this.close(invalid);
    this.send(input, this.#options, Number.POSITIVE_INFINITY, this.#credit);
    this.#awaitClaim();
  }

  /** A transport that knows which requests are claimed cannot know of an operation that no server has. */
  #awaitClaim(): void {
    const { transport, defaultTimeout } = this.host;
    if (!this.isOpen || transport.isClaimed?.(this.requestId) !== false) return;
    if (defaultTimeout === Number.POSITIVE_INFINITY) return;
    this.#claim = new ClaimWatch(this);
    expireAt(this.#claim, monotonicNow() + defaultTimeout);
  }

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

  /** The consumer goes: a waiting `next()` gives done, and what is held is dropped. */
  leave(): void {
    this.#values = [];
    this.#failure = undefined;
    if (!this.end()) return;
    this.abandon("the consumer left");
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

  #takeValue({ output: given, seq, creditDue }: CallResponded): void {
    if (!this.host.isInProcess && !isResponseEnvelope(given)) {
      return this.giveUp(badReply(this.operationId, "a value that is no envelope"));
    }
    const output = this.host.isInProcess ? given : restoreData(given);
    if (seq !== undefined && seq !== this.#nextSeq) return this.giveUp(gap(this.operationId, this.#nextSeq, seq));
    this.#nextSeq += 1;
    this.#idle?.unlink();
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) {
      waiter.resolve({ done: false, value: output });
      this.#repay(creditDue === true);
      if (this.#waiters.length > 0) this.#awaitValue();
    } else if (!this.#hold(output, creditDue === true)) return;
    if (seq !== undefined) return;
    this.end(); // the only one
    this.#finish();
  }

  /** Keeps a value for the consumer. Ends the subscription when there are too many. */
  #hold(envelope: ResponseEnvelope, isDue: boolean): boolean {
    const { count, bytes: allowed } = this.#credit;
    const most = byteTolerance * allowed;
    if (this.#values.length >= count || this.#heldBytes > most) {
      this.giveUp(overflow(this.operationId, this.#credit));
      return false;
    }
    const bytes = allowed === Number.POSITIVE_INFINITY ? 0 : roughSize(envelope.data, most + 1);
    this.#heldBytes += bytes;
    this.#values.push({ envelope, bytes, isDue });
    return true;
  }

  protected fail(error: CallError): void {
    this.#idle?.unlink();
    // What the producer itself ends with comes after its values; what was decided here does not wait for them.
    const waiter = this.#waiters.shift();
    if (waiter === undefined) this.#failure = error;
    else waiter.reject(error);
    this.#finish();
  }

  override giveUp(error: CallError): void {
    if (this.isOpen) this.#values = [];
    super.giveUp(error);
  }

  #finish(): void {
    this.#idle?.unlink();
    this.#claim?.unlink();
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter.resolve(done);
  }

  #awaitValue(): void {
    const idle = this.#idle;
    if (idle !== undefined && idle.owner === undefined) expireAt(idle, monotonicNow() + this.idleTimeout);
  }

  /** Half of the credit at a time, so that a frame of credit goes with many values, or when the producer needs it. */
  #repay(isDue: boolean): void {
    this.#taken += 1;
    if (isDue) this.#isDue = true;
    this.onReady();
  }

  protected override onReady(): void {
    if (!this.isOpen || (!this.#isDue && this.#taken * 2 < this.#credit.count)) return;
    if (!this.creditMore(this.#taken)) return;
    this.#taken = 0;
    this.#isDue = false;
  }
}

function notClaimed(operationId: string, milliseconds: number): CallError {
  const message = `No server took the subscription to "${operationId}" within ${milliseconds} ms.`;
  return new CallError("TIMEOUT", message, { operationId }, { retryable: true, mayHaveRun: false });
}

function gap(operationId: string, expected: number, came: number): CallError {
  const message = `Values of "${operationId}" were lost: number ${came} came where ${expected} was due.`;
  return new CallError("STREAM_GAP", message, { operationId, expected, came }, { retryable: true });
}

function overflow(operationId: string, { count, bytes }: Credit): CallError {
  const message = `"${operationId}" sent more than the ${count} values or ${bytes} bytes that it had credit for.`;
  return new CallError("OVERFLOW", message, { operationId, credit: count, creditBytes: bytes });
}
