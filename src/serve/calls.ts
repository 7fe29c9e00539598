import {
  type CallCompleted,
  type CallRequested,
  type CallResponded,
  drain,
  IncomingCall,
  IncomingSubscription,
  RequestRunner,
} from "../call/index.ts";
import { startTimer } from "../internal/timers.ts";
import { type CallError, type Identity, mapError, type Progress, type ResponseEnvelope } from "../operation/index.ts";
import type { CallOutcome, OperationRegistry } from "../registry/index.ts";
import type { CloseOptions, ServeOptions } from "./server.ts";

/** Number of values that a subscription may be ahead of its client. */
export const maxValuesAhead = 64;

/** Time in ms after which a running call starts to listen for the disconnect of its client. */
const freshMs = 1;

/** A request for a call, as a server received it. */
export interface ServedRequest {
  /** Id of the operation. */
  operationId: string;
  /** The input, which was not validated yet. */
  input: unknown;
  /** Identifies the call in events, logs and responses. */
  requestId: string;
  /** The sender. */
  identity?: Identity | undefined;
  /** Time that the sender is willing to wait, in ms. @default that of the server */
  timeout?: number | undefined;
  /** Metadata from the sender, which is not trustworthy. */
  metadata?: Record<string, unknown> | undefined;
  /** For subscriptions: the id of the last event that the sender received. */
  lastEventId?: string | undefined;
}

/** The connection to a client. `signal` fires when the client disconnects. It may be created when it is first read. */
export interface ClientConnection {
  readonly signal: AbortSignal;
}

/** Receives the outcome of a query or mutation: one of `onResult` and `onError`, once. */
export interface ServedOutcome extends CallOutcome {
  onError(error: CallError): void;
  /** Receives the progress that the handler reports. */
  onProgress?(progress: Progress): void;
}

/** Receives the values of a subscription, and its end: one of `onEnd` and `onError`, once, unless it was cancelled. */
export interface ValueReceiver {
  /** The handler was called. Its first value may take any time. */
  onOpen?(): void;
  /** Receives a value; `seq` counts from 0. If it returns a promise, the next value waits for it. */
  onValue(envelope: ResponseEnvelope, seq: number): void | Promise<void>;
  onEnd(): void;
  onError(error: CallError): void;
}

/** A running subscription of a client. */
export interface ServedSubscription {
  /** Requests further values, after the client has received as many. */
  credit(count: number): void;
  /** Ends it without a reply, because the client has disconnected. */
  cancel(): void;
  /** Ends it with an error. */
  endWith(error: CallError): void;
}

/** Runs the calls that a server receives. All servers share its rules for deadlines, limits, disconnects and closing. */
export class ServerCalls {
  readonly #runner: RequestRunner;
  /** Calls that are too young to listen for the disconnect of their client. */
  #fresh: ClientCall[] = [];
  #closed: Promise<void> | undefined = undefined;

  constructor(registry: OperationRegistry, options: Pick<ServeOptions, "defaultTimeout" | "maxTimeout" | "limits">) {
    this.#runner = new RequestRunner({ ...options, registry, isRemote: true, isInProcess: false });
  }

  /** Whether the server was closed. It must refuse further requests. */
  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  /** Runs a query or mutation. It is aborted when its client disconnects. Never throws. */
  execute(request: ServedRequest, client: ClientConnection, outcome: ServedOutcome): void {
    const runner = this.#runner;
    if (runner.running >= runner.maxRunning) return outcome.onError(runner.refusal());
    const frame = toFrame(request);
    const call = new ClientCall(runner, frame, outcome, client);
    call.begin(request.identity, runner.deadlineOf(frame));
    // Most calls end within a millisecond. Listening to a signal would be a large part of their cost.
    if (call.isRunning && this.#fresh.push(call) === 1) startTimer(this.#watchClients, freshMs, { keepsAlive: false });
  }

  /** Starts a subscription, which requests values while there is credit: {@link maxValuesAhead} at first. Never throws. */
  subscribe(request: ServedRequest, receiver: ValueReceiver): ServedSubscription | undefined {
    const runner = this.#runner;
    if (runner.running >= runner.maxRunning) {
      receiver.onError(runner.refusal());
      return undefined;
    }
    const frame = toFrame(request);
    frame.credit = maxValuesAhead;
    const subscription = new ClientSubscription(runner, frame, receiver);
    void subscription.begin(request.identity, runner.deadlineOf(frame));
    return subscription;
  }

  /** Lets running calls finish, and ends subscriptions with `UNAVAILABLE`. The options of the first call apply. */
  close(options: CloseOptions = {}): Promise<void> {
    this.#closed ??= drain(async () => {}, this.#runner, options);
    return this.#closed;
  }

  readonly #watchClients = (): void => {
    const calls = this.#fresh;
    this.#fresh = [];
    for (const call of calls) call.watchClient();
  };
}

function toFrame({ operationId, input, requestId, timeout, metadata, lastEventId }: ServedRequest): CallRequested {
  const frame: CallRequested = { type: "call.requested", requestId, operationId, input };
  if (timeout !== undefined) frame.timeout = timeout;
  if (metadata !== undefined) frame.metadata = metadata;
  if (lastEventId !== undefined) frame.lastEventId = lastEventId;
  return frame;
}

/** The methods of this file's classes receive replies, so there is no function that sends them. */
function noReply(): void {}

class ClientCall extends IncomingCall {
  declare readonly outcome: ServedOutcome;
  declare readonly client: ClientConnection;

  constructor(runner: RequestRunner, frame: CallRequested, outcome: ServedOutcome, client: ClientConnection) {
    super(runner, frame, noReply);
    this.outcome = outcome;
    this.client = client;
  }

  get isRunning(): boolean {
    return this.isOpen;
  }

  /** Aborts the call when its client disconnects. */
  watchClient(): void {
    if (!this.isOpen) return;
    const { signal } = this.client;
    if (signal.aborted) this.abort(signal.reason);
    else signal.addEventListener("abort", () => this.abort(signal.reason), { once: true });
  }

  override reportProgress(progress: Progress): void {
    if (this.isOpen) this.outcome.onProgress?.(progress);
  }

  override onResult(envelope: ResponseEnvelope): void {
    if (!this.leave()) return this.logLateResult();
    this.guard?.release();
    this.outcome.onResult(envelope);
  }

  protected override sendFailure(error: unknown): void {
    this.outcome.onError(mapError(error));
  }
}

class ClientSubscription extends IncomingSubscription implements ServedSubscription {
  readonly #receiver: ValueReceiver;

  constructor(runner: RequestRunner, frame: CallRequested, receiver: ValueReceiver) {
    super(runner, frame, noReply);
    this.#receiver = receiver;
  }

  credit(count: number): void {
    this.receive({ type: "call.credited", requestId: this.requestId, count });
  }

  cancel(): void {
    this.receive({ type: "call.aborted", requestId: this.requestId });
  }

  onOpen(): void {
    this.#receiver.onOpen?.();
  }

  override reportProgress(): void {}

  protected override send(frame: CallResponded | CallCompleted): void | Promise<void> {
    if (frame.type === "call.responded") return this.#receiver.onValue(frame.output, frame.seq!);
    this.#receiver.onEnd();
  }

  protected override sendFailure(error: unknown): void {
    this.#receiver.onError(mapError(error));
  }
}
