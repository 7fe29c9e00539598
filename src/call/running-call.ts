import type { CallError, CallOptions, Identity, ResponseEnvelope } from "../operation/index.ts";
import { mapError } from "../operation/index.ts";
import { type Arrival, executeArrived, Guard } from "../registry/index.ts";
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
export class RunningCall extends Guard implements Arrival {
  callsLeft: number;
  readonly parentRequestId: string | undefined;
  readonly #host: RunningHost;
  readonly #frame: CallRequested;
  readonly #reply: Reply;
  #hasAsker = true;

  constructor(host: RunningHost, frame: CallRequested, reply: Reply) {
    super(frame.operationId);
    this.callsLeft = host.callsPerRoot;
    this.parentRequestId = textOrNothing(frame.parentRequestId);
    this.#host = host;
    this.#frame = frame;
    this.#reply = reply;
    host.running += 1;
  }

  /** Begins the call, which ends with TIMEOUT at `deadline`. Does not throw. */
  begin(asker: Identity | undefined, deadline: number): void {
    this.onEnd((error) => this.#onGivenUp(error));
    this.arm(undefined, deadline, undefined);
    if (this.ended !== undefined) return;
    const identity = identify(this.#host, this.#frame, asker);
    if (identity instanceof Promise) {
      identity.then(
        (known) => {
          this.endIfExpired();
          this.#run(known, deadline);
        },
        (error) => this.#onFailure(error),
      );
    } else this.#run(identity, deadline);
  }

  follow(frame: FollowUp): void {
    if (frame.type !== "call.aborted") return;
    this.#hasAsker = false;
    this.end({ kind: "aborted", reason: frame.reason });
  }

  #run(identity: Identity | undefined, deadline: number): void {
    if (this.ended !== undefined) return;
    const { operationId, input, requestId } = this.#frame;
    const metadata = recordOrNothing(this.#frame.metadata);
    const onProgress: CallOptions["onProgress"] = (progress) => {
      if (this.#hasAsker) sendProgress(this.#reply, this.#frame, progress);
    };
    const options: CallOptions = { identity, deadline, requestId, metadata, onProgress };
    executeArrived(this.#host.registry, operationId, input, options, this).then(
      (envelope) => this.#onAnswer(envelope),
      (error) => this.#onFailure(error),
    );
  }

  #onAnswer(output: ResponseEnvelope): void {
    if (!this.release()) return reportLate(this.operationId);
    send(this.#reply, this.#frame, { type: "call.responded", requestId: this.#frame.requestId, output });
    this.#leaveHost();
  }

  #onFailure(error: unknown): void {
    if (!this.release()) return reportLate(this.operationId);
    sendError(this.#reply, this.#frame, mapError(error));
    this.#leaveHost();
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
