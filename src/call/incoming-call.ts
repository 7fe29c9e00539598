import { logger } from "../internal/log.ts";
import { aborted, type CallError, type Identity, type ResponseEnvelope } from "../operation/index.ts";
import { executeIncoming, Guard, type IncomingExecution } from "../registry/index.ts";
import type { CallRequested, CallResponded, FollowUp, Reply } from "../transport/transport.ts";
import { IncomingRequest, type RequestRunner } from "./incoming-request.ts";

const log = logger("call");

/** A response that is passed by reference. Its id is the id of its request, which may be generated when it is read. */
class SharedResponse implements CallResponded {
  declare readonly type: "call.responded";
  declare readonly output: ResponseEnvelope;
  declare private readonly request: CallRequested;

  constructor(request: CallRequested, output: ResponseEnvelope) {
    this.type = "call.responded";
    this.output = output;
    this.request = request;
  }

  get requestId(): string {
    return this.request.requestId;
  }
}

/** A query or mutation that runs for a remote caller. It replies exactly once, unless the caller has disconnected. */
export class IncomingCall extends IncomingRequest implements IncomingExecution {
  declare identity: Identity | undefined;
  declare deadline: number | undefined;
  declare guard: Guard | undefined;
  declare observer: IncomingExecution["observer"];
  /** Whether the caller is waiting for a reply. */
  declare private hasCaller: boolean;

  constructor(host: RequestRunner, frame: CallRequested, reply: Reply) {
    super(host, frame, reply);
    this.identity = undefined;
    this.deadline = undefined;
    this.guard = undefined;
    this.observer = undefined;
    this.hasCaller = true;
  }

  /** Starts the call, which ends with `TIMEOUT` at its deadline. Does not throw. */
  begin(caller: Identity | undefined, deadline: number | undefined): void {
    if (deadline !== undefined) {
      this.deadline = deadline;
      this.openGuard().arm(undefined, deadline, undefined);
    }
    if (!this.isOpen) return;
    const identity = caller ?? this.identify();
    if (!(identity instanceof Promise)) return this.#run(identity);
    identity.then(
      (known) => this.#run(known),
      (error) => this.onError(error),
    );
  }

  openGuard(): Guard {
    if (this.guard === undefined) {
      this.guard = new Guard(this.frame.operationId);
      // A handler that continues after its call has ended may still read its signal.
      if (!this.hasCaller) this.guard.abandon(aborted(this.operationId, "the caller disconnected", true));
      this.guard.onEnd((error) => this.#onEnd(error));
    }
    return this.guard;
  }

  override receive(frame: FollowUp): void {
    if (frame.type !== "call.aborted" || !this.isOpen) return;
    this.hasCaller = false;
    if (this.guard === undefined) this.leave();
    else this.guard.end({ kind: "aborted", reason: frame.reason });
  }

  /** Ends the call, because its caller has disconnected. The caller receives `ABORTED`, and the handler's signal fires. */
  abort(reason: unknown): void {
    if (this.isOpen) this.openGuard().end({ kind: "aborted", reason });
  }

  onResult(envelope: ResponseEnvelope): void {
    if (!this.leave()) return this.logLateResult();
    const { reply, frame, host, guard } = this;
    guard?.release();
    try {
      const output = host.outcome === undefined ? envelope : host.outcome.toEnvelope(envelope);
      const sent = reply(
        host.isRemote
          ? { type: "call.responded", requestId: frame.requestId, output }
          : new SharedResponse(frame, output),
      );
      if (sent !== undefined) sent.catch((error) => this.sendFailure(error));
    } catch (error) {
      this.sendFailure(error);
    }
  }

  onError(error: unknown): void {
    if (!this.leave()) return this.logLateResult();
    this.guard?.release();
    this.sendFailure(error);
  }

  override endWith(error: CallError): void {
    if (!this.leave()) return;
    this.hasCaller = false;
    this.sendFailure(error);
    this.guard?.end({ kind: "aborted", reason: error }, error);
  }

  #run(identity: Identity | undefined): void {
    if (!this.isOpen) return;
    this.identity = identity;
    executeIncoming(this.host.core, this.frame.operationId, this.frame.input, this);
  }

  #onEnd(error: CallError): void {
    this.observer?.onEarlyEnd(error);
    if (this.leave() && this.hasCaller) this.sendFailure(error);
  }

  protected logLateResult(): void {
    const { operationId } = this;
    log.debug("{operationId} settled after its call had ended. The result was dropped.", { operationId });
  }
}
