import { aborted, type CallError, type Identity, type ResponseEnvelope } from "../operation/index.ts";
import { executeIncoming, Guard, type IncomingExecution } from "../registry/index.ts";
import { type CallRequested, type FollowUp, type Reply, toRespondedFrame } from "../transport/transport.ts";
import { identify } from "./identify.ts";
import { type RunningHost, recordOrNothing, reportLate, send, timeLeft } from "./running.ts";
import { RunningRequest } from "./running-request.ts";

/** A query or mutation that runs for somebody outside. Replies exactly once, unless the asker has left. */
export class RunningCall extends RunningRequest implements IncomingExecution {
  declare identity: Identity | undefined;
  declare deadline: number | undefined;
  declare guard: Guard | undefined;
  declare private hasAsker: boolean;

  constructor(host: RunningHost, frame: CallRequested, reply: Reply) {
    super(host, frame, reply);
    this.identity = undefined;
    this.deadline = undefined;
    this.guard = undefined;
    this.hasAsker = true;
  }

  get metadata(): Record<string, unknown> | undefined {
    return recordOrNothing(this.frame.metadata);
  }

  /** Begins the call, which ends with TIMEOUT after `timeout` ms. Does not throw. */
  begin(asker: Identity | undefined, timeout: number): void {
    if (timeout !== Number.POSITIVE_INFINITY) {
      const now = Date.now();
      this.deadline = now + timeLeft(this.frame, timeout);
      this.openGuard().arm(undefined, this.deadline, undefined, now);
    }
    if (!this.isOpen) return;
    if (asker !== undefined) return this.#run(asker);
    const identity = identify(this.host, this.frame);
    if (identity instanceof Promise) {
      identity.then(
        (known) => {
          this.guard?.endIfExpired();
          this.#run(known);
        },
        (error) => this.onError(error),
      );
    } else this.#run(identity);
  }

  openGuard(): Guard {
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
    if (this.guard === undefined) this.leave();
    else this.guard.end({ kind: "aborted", reason: frame.reason });
  }

  onResult(output: ResponseEnvelope): void {
    if (!this.leave()) return reportLate(this.frame.operationId);
    this.guard?.release();
    send(this.reply, this.frame, toRespondedFrame(this.frame, output));
  }

  onError(error: unknown): void {
    if (!this.leave()) return reportLate(this.frame.operationId);
    this.guard?.release();
    this.tellFailure(error);
  }

  endWith(error: CallError): void {
    if (!this.leave()) return;
    this.hasAsker = false;
    this.tellFailure(error);
    this.guard?.abandon(error);
  }

  #run(identity: Identity | undefined): void {
    if (!this.isOpen) return;
    const { operationId, input } = this.frame;
    this.identity = identity;
    executeIncoming(this.host.registry, operationId, input, this);
  }

  #onGivenUp(error: CallError): void {
    if (this.leave() && this.hasAsker) this.tellFailure(error);
  }
}
