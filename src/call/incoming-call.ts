import { startTimer, type Timer } from "../internal/timers.ts";
import { aborted, type CallError, type Identity, type ResponseEnvelope, timedOut } from "../operation/inside.ts";
import { Call, type IncomingExecution } from "../registry/inside.ts";
import type { CallRequested, CallResponded, FollowUp, Reply } from "../transport/transport.ts";
import { IncomingRequest, type RequestRunner, readRequestFields } from "./incoming-request.ts";

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
export class IncomingCall extends IncomingRequest {
  declare private call: IncomingExecution | undefined;
  /** Ends the call at its deadline while its caller is being identified. */
  declare private waiting: Timer | undefined;

  constructor(host: RequestRunner, frame: CallRequested, reply: Reply, caller?: Identity) {
    super(host, frame, reply, caller);
    this.call = undefined;
    this.waiting = undefined;
  }

  /** Starts the call, which ends with `TIMEOUT` at its deadline. Does not throw. */
  begin(caller: Identity | undefined, deadline: number | undefined): void {
    const identity = caller ?? this.identify();
    if (!(identity instanceof Promise)) return this.#run(identity, deadline);
    if (deadline !== undefined) {
      const expire = () => this.onError(timedOut(this.operationId, false));
      this.waiting = startTimer(expire, Math.max(deadline - Date.now(), 0));
    }
    identity.then(
      (known) => this.#run(known, deadline),
      (error) => this.onError(error),
    );
  }

  override receive(frame: FollowUp): void {
    if (frame.type !== "call.aborted" || !this.leave()) return;
    this.call?.abort(frame.reason);
  }

  /** Ends the call, because its caller has disconnected. The caller receives `ABORTED`, and the handler's signal fires. */
  abort(reason: unknown): void {
    if (this.call === undefined) this.onError(aborted(this.operationId, reason, false));
    else this.call.abort(reason);
  }

  onResult(envelope: ResponseEnvelope): void {
    const { reply, frame, host } = this;
    if (!this.leave()) return;
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
    if (this.leave()) this.sendFailure(error);
  }

  override endWith(error: CallError): void {
    if (this.call === undefined) this.onError(error);
    else this.call.end(error);
  }

  #run(identity: Identity | undefined, deadline: number | undefined): void {
    this.waiting?.stop();
    if (!this.isOpen) return;
    const { host, frame } = this;
    const options = { ...readRequestFields(frame), identity, deadline };
    this.call = Call.incoming(host.core, frame.operationId, options, this);
    this.call.run(frame.input).then(
      (envelope) => this.onResult(envelope),
      (error) => this.onError(error),
    );
  }
}
