import { logger } from "../internal/log.ts";
import type { CallError, Identity, ResponseEnvelope } from "../operation/index.ts";
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
  declare hasStarted: boolean;
  declare observer: IncomingExecution["observer"];
  /** Whether the caller is waiting for a reply. */
  declare private hasCaller: boolean;

  constructor(host: RequestRunner, frame: CallRequested, reply: Reply) {
    super(host, frame, reply);
    this.identity = undefined;
    this.deadline = undefined;
    this.guard = undefined;
    this.hasStarted = false;
    this.observer = undefined;
    this.hasCaller = true;
  }

  /** Starts the call, which ends with `TIMEOUT` at its deadline. Does not throw. */
  begin(caller: Identity | undefined, deadline: number | undefined): void {
    this.deadline = deadline;
    if (deadline !== undefined && deadline <= Date.now()) this.openGuard();
    if (!this.isOpen) return;
    const identity = caller ?? this.identify();
    if (!(identity instanceof Promise)) this.#run(identity);
    else {
      identity.then(
        (known) => this.#run(known),
        (error) => this.onError(error),
      );
    }
    if (this.isOpen && (deadline !== undefined || this.host.isRemote)) this.host.watchSoon(this);
  }

  /** Watches the deadline of a call that is still running after the turn in which it began. */
  watch(): void {
    if (this.isOpen && this.deadline !== undefined) this.openGuard();
  }

  openGuard(): Guard {
    if (this.guard === undefined) {
      this.guard = new Guard(this.frame.operationId, this.hasStarted);
      this.guard.onEnd((error) => this.#onEnd(error));
      this.guard.arm(undefined, this.deadline, undefined);
      // A handler may continue after its call has ended. Its nested calls keep the deadline.
      if (!this.isOpen) this.guard.release();
    }
    return this.guard;
  }

  override receive(frame: FollowUp): void {
    if (frame.type !== "call.aborted" || !this.isOpen) return;
    const guard = this.openGuard();
    this.hasCaller = false;
    guard.end({ kind: "aborted", reason: frame.reason });
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
    if (this.isOpen) this.openGuard().end({ kind: "aborted", reason: error }, error);
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
