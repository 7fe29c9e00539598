import {
  type CallCompleted,
  type CallRequested,
  type CallResponded,
  drain,
  IncomingCall,
  IncomingSubscription,
  RequestRunner,
} from "../call/inside.ts";
import { type CallError, type Identity, mapError, type Progress, type ResponseEnvelope } from "../operation/index.ts";
import type { OperationRegistry } from "../registry/index.ts";
import { serverClosed } from "./refusals.ts";
import type { CloseOptions, ServeOptions } from "./server.ts";

/** Number of values that a subscription may be ahead of its client. */
const maxValuesAhead = 64;
/** Approximate number of bytes that these values may have. A single value may exceed it. */
const maxBytesAhead = 64 * 1024;

/** A request for an operation, as a server received it. `identity` is that of the authenticated sender. */
export type ServedRequest = CallRequested;

/** A call of a query or mutation. It receives its outcome: one of `onResult` and `onError`, once. */
export interface ServedCall extends ServedRequest {
  onResult(envelope: ResponseEnvelope): void;
  onError(error: CallError): void;
  /** Receives the progress that the handler reports. */
  onProgress?(progress: Progress): void;
  /** Calls the listener when the client has disconnected or has cancelled the call. */
  onClose(listener: (reason?: unknown) => void): void;
}

/** Receives the values of a subscription, and its end: one of `onEnd` and `onError`, once, unless it was cancelled. */
export interface ValueReceiver {
  /** The handler was called. Its first value may take any time. */
  onOpen?(): void;
  /** Receives a value; `seq` counts from 0. */
  onValue(envelope: ResponseEnvelope, seq: number): void;
  onEnd(): void;
  onError(error: CallError): void;
}

/** Runs the calls that a server receives. All servers share its rules for deadlines, limits, disconnects and closing. */
export class ServerCalls {
  readonly #runner: RequestRunner;
  #closed: Promise<void> | undefined = undefined;

  /** @param via - what events of calls report as their door, such as `http` */
  constructor(
    registry: OperationRegistry,
    options: Pick<ServeOptions, "defaultTimeout" | "maxTimeout" | "limits">,
    via: string,
  ) {
    this.#runner = new RequestRunner({ ...options, registry, isRemote: true, isInProcess: false, via });
  }

  /** Whether the server was closed. It must refuse further requests. */
  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  /** Runs a query or mutation. It is aborted when its client disconnects. Never throws. */
  execute(request: ServedCall): void {
    const runner = this.#runner;
    const refusal = this.#refusal();
    if (refusal !== undefined) return request.onError(refusal);
    new ClientCall(runner, request).begin(request.identity, runner.deadlineOf(request));
  }

  /** Starts a subscription, which requests values while there is credit: {@link maxValuesAhead} at first. Never throws. */
  subscribe(request: ServedRequest, receiver: ValueReceiver): ServedSubscription | undefined {
    const runner = this.#runner;
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      receiver.onError(refusal);
      return undefined;
    }
    request.credit = maxValuesAhead;
    request.creditBytes = maxBytesAhead;
    const subscription = new ServedSubscription(runner, request, receiver);
    void subscription.begin(request.identity, runner.deadlineOf(request));
    return subscription;
  }

  /** Lets running calls finish, and ends subscriptions with `UNAVAILABLE`. The options of the first call apply. */
  close(options: CloseOptions = {}): Promise<void> {
    this.#closed ??= drain(async () => {}, this.#runner, options);
    return this.#closed;
  }

  /** Returns why a further request is refused. One that arrived earlier may have been read or authenticated until now. */
  #refusal(): CallError | undefined {
    if (this.isClosed) return serverClosed();
    return this.#runner.running < this.#runner.maxRunning ? undefined : this.#runner.refusal();
  }
}

/** Calls the listener when a signal fires, or immediately if it has fired. For the signal of one request. */
export function onceAborted(signal: AbortSignal, listener: (reason: unknown) => void): void {
  if (signal.aborted) listener(signal.reason);
  else signal.addEventListener("abort", () => listener(signal.reason), { once: true });
}

/** The methods of this file's classes receive replies, so there is no function that sends them. */
function noReply(): void {}

class ClientCall extends IncomingCall {
  declare private readonly client: ServedCall;

  constructor(runner: RequestRunner, client: ServedCall) {
    super(runner, client, noReply);
    this.client = client;
  }

  override begin(caller: Identity | undefined, deadline: number | undefined): void {
    super.begin(caller, deadline);
    if (this.isOpen) this.host.watchSoon(this);
  }

  watch(): void {
    if (!this.isOpen) return;
    try {
      this.client.onClose((reason) => this.abort(reason));
    } catch (error) {
      this.endWith(mapError(error)); // The host of the server failed.
    }
  }

  override reportProgress(progress: Progress): void {
    if (this.isOpen) this.client.onProgress?.(progress);
  }

  override onResult(envelope: ResponseEnvelope): void {
    if (this.leave()) this.client.onResult(envelope);
  }

  protected override sendFailure(error: unknown): void {
    this.client.onError(mapError(error));
  }
}

/** A running subscription of a client. `endWith` ends it with an error. */
export class ServedSubscription extends IncomingSubscription {
  readonly #receiver: ValueReceiver;

  constructor(runner: RequestRunner, frame: CallRequested, receiver: ValueReceiver) {
    super(runner, frame, noReply);
    this.#receiver = receiver;
  }

  /** Requests further values, after the client has received as many. */
  credit(count: number): void {
    this.receive({ type: "call.credited", requestId: this.requestId, count });
  }

  /** Ends it without a reply, because the client has disconnected. */
  cancel(): void {
    this.receive({ type: "call.aborted", requestId: this.requestId });
  }

  onOpen(): void {
    this.#receiver.onOpen?.();
  }

  override reportProgress(): void {}

  protected override send(frame: CallResponded | CallCompleted): void {
    if (frame.type === "call.responded") this.#receiver.onValue(frame.output, frame.seq!);
    else this.#receiver.onEnd();
  }

  protected override sendFailure(error: unknown): void {
    this.#receiver.onError(mapError(error));
  }
}
