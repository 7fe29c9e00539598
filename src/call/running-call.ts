import {
  aborted,
  type CallError,
  type CallOptions,
  type Identity,
  mapError,
  type Progress,
  type ResponseEnvelope,
} from "../operation/index.ts";
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
  // Assigned rather than defined as class fields, to be cheap to make: there is one for each call.
  declare callsLeft: number;
  declare readonly parentRequestId: string | undefined;
  declare isTimed: boolean;
  declare private readonly host: RunningHost;
  declare private readonly frame: CallRequested;
  declare private readonly reply: Reply;
  declare private guard: Guard | undefined;
  declare private isOpen: boolean;
  declare private hasAsker: boolean;

  constructor(host: RunningHost, frame: CallRequested, reply: Reply) {
    this.callsLeft = host.callsPerRoot;
    this.parentRequestId = textOrNothing(frame.parentRequestId);
    this.host = host;
    this.frame = frame;
    this.reply = reply;
    this.isTimed = false;
    this.guard = undefined;
    this.isOpen = true;
    this.hasAsker = true;
    host.running += 1;
  }

  /** Begins the call, which ends with TIMEOUT after `timeout` ms. Does not throw. */
  begin(asker: Identity | undefined, timeout: number): void {
    let deadline: number | undefined;
    if (timeout !== Number.POSITIVE_INFINITY) {
      const now = Date.now();
      deadline = now + timeout;
      this.isTimed = true;
      this.watch().arm(undefined, deadline, undefined, now);
    }
    if (!this.isOpen) return;
    if (asker !== undefined) return this.#run(asker, deadline);
    const identity = identify(this.host, this.frame);
    if (identity instanceof Promise) {
      identity.then(
        (known) => {
          this.guard?.endIfExpired();
          this.#run(known, deadline);
        },
        (error) => this.onFailure(error),
      );
    } else this.#run(identity, deadline);
  }

  watch(): Guard {
    if (this.guard === undefined) {
      this.guard = new Guard(this.frame.operationId);
      // Asked for by a handler that runs on after its call was given up.
      if (!this.hasAsker) this.guard.abandon(aborted(this.frame.operationId, "the asker is gone", true));
      this.guard.onEnd((error) => this.#onGivenUp(error));
    }
    return this.guard;
  }

  follow(frame: FollowUp): void {
    if (frame.type !== "call.aborted" || !this.isOpen) return;
    this.hasAsker = false;
    if (this.guard === undefined) this.#leave();
    else this.guard.end({ kind: "aborted", reason: frame.reason });
  }

  onProgress(progress: Progress): void {
    if (this.isOpen) sendProgress(this.reply, this.frame, progress);
  }

  onAnswer(output: ResponseEnvelope): void {
    if (!this.isOpen) return reportLate(this.frame.operationId);
    this.#leave();
    this.guard?.release();
    send(this.reply, this.frame, { type: "call.responded", requestId: this.frame.requestId, output });
  }

  onFailure(error: unknown): void {
    if (!this.isOpen) return reportLate(this.frame.operationId);
    this.#leave();
    this.guard?.release();
    sendError(this.reply, this.frame, mapError(error));
  }

  #run(identity: Identity | undefined, deadline: number | undefined): void {
    if (!this.isOpen) return;
    const { operationId, input, requestId } = this.frame;
    const options: CallOptions = { identity, deadline, requestId, metadata: recordOrNothing(this.frame.metadata) };
    executeArrived(this.host.registry, operationId, input, options, this);
  }

  #onGivenUp(error: CallError): void {
    if (!this.isOpen) return;
    this.#leave();
    if (this.hasAsker) sendError(this.reply, this.frame, error);
  }

  #leave(): void {
    this.isOpen = false;
    this.host.running -= 1;
    this.host.onEnd();
  }
}
