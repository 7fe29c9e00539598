import type { ResponseEnvelope } from "../operation/index.ts";
import { type CallError, type CallOptions, type Identity, mapError, type Progress } from "../operation/index.ts";
import { executeArrived, Guard, type OwnedCall } from "../registry/index.ts";
import type { CallRequested, FollowUp, Reply } from "../transport/transport.ts";
import { identify } from "./identify.ts";
import {
  type RunningHost,
  recordOrNothing,
  reportLate,
  send,
  sendError,
  sendProgress,
  textOrNothing,
} from "./running.ts";

/** A query or mutation that runs for somebody outside. Replies exactly once, unless the asker has left. */
export class RunningCall implements OwnedCall {
  readonly guard: Guard;
  callsLeft: number;
  readonly parentRequestId: string | undefined;
  readonly #host: RunningHost;
  readonly #frame: CallRequested;
  readonly #reply: Reply;
  #hasAsker = true;

  constructor(host: RunningHost, frame: CallRequested, reply: Reply) {
    this.guard = new Guard(frame.operationId);
    this.callsLeft = host.callsPerRoot;
    this.parentRequestId = textOrNothing(frame.parentRequestId);
    this.#host = host;
    this.#frame = frame;
    this.#reply = reply;
    host.running += 1;
  }

  /** Begins the call, which ends with TIMEOUT after `timeout` ms. Does not throw. */
  begin(asker: Identity | undefined, timeout: number): void {
    const now = Date.now();
    const deadline = now + timeout;
    const { guard } = this;
    guard.onEnd((error) => this.#onGivenUp(error));
    guard.arm(undefined, deadline, undefined, now);
    if (!guard.isOpen) return;
    const identity = identify(this.#host, this.#frame, asker);
    if (identity instanceof Promise) {
      identity.then(
        (known) => {
          guard.endIfExpired();
          this.#run(known, deadline);
        },
        (error) => this.onFailure(error),
      );
    } else this.#run(identity, deadline);
  }

  follow(frame: FollowUp): void {
    if (frame.type !== "call.aborted") return;
    this.#hasAsker = false;
    this.guard.end({ kind: "aborted", reason: frame.reason });
  }

  onProgress(progress: Progress): void {
    if (this.guard.isOpen) sendProgress(this.#reply, this.#frame, progress);
  }

  onAnswer(output: ResponseEnvelope): void {
    if (!this.guard.release()) return reportLate(this.#frame.operationId);
    send(this.#reply, this.#frame, { type: "call.responded", requestId: this.#frame.requestId, output });
    this.#leaveHost();
  }

  onFailure(error: unknown): void {
    if (!this.guard.release()) return reportLate(this.#frame.operationId);
    sendError(this.#reply, this.#frame, mapError(error));
    this.#leaveHost();
  }

  #run(identity: Identity | undefined, deadline: number): void {
    if (!this.guard.isOpen) return;
    const { operationId, input, requestId } = this.#frame;
    const options: CallOptions = { identity, deadline, requestId, metadata: recordOrNothing(this.#frame.metadata) };
    executeArrived(this.#host.registry, operationId, input, options, this);
  }

  #onGivenUp(error: CallError): void {
    if (this.#hasAsker) sendError(this.#reply, this.#frame, error);
    this.#leaveHost();
  }

  #leaveHost(): void {
    this.#host.running -= 1;
    this.#host.onEnd();
  }
}
