import { CallError, isResponseEnvelope, type ResponseEnvelope, restoreData } from "../operation/index.ts";
import type { CallCompleted, CallFailed, CallResponded } from "../transport/transport.ts";
import { OpenRequest, type RequestHost } from "./open-request.ts";
import type { CallRequestOptions } from "./request-options.ts";

/** A call that waits for its one answer. */
export class PendingCall extends OpenRequest {
  declare private readonly resolve: (envelope: ResponseEnvelope) => void;
  declare private readonly reject: (error: CallError) => void;

  constructor(
    host: RequestHost,
    operationId: string,
    onProgress: CallRequestOptions["onProgress"],
    resolve: (envelope: ResponseEnvelope) => void,
    reject: (error: CallError) => void,
  ) {
    super(host, operationId, onProgress);
    this.resolve = resolve;
    this.reject = reject;
  }

  protected take(frame: CallResponded | CallCompleted | CallFailed): void {
    switch (frame.type) {
      case "call.responded":
        if (!this.host.isInProcess && !isResponseEnvelope(frame.output)) {
          return this.giveUp(badReply(this.operationId, "an answer that is no envelope"));
        }
        this.end();
        // One of many: nobody will read the others.
        if (frame.seq !== undefined) this.abandon("one answer was asked for");
        this.resolve(this.host.isInProcess ? frame.output : restoreData(frame.output));
        return;
      case "call.error":
        return this.close(CallError.fromJSON(frame));
      case "call.completed":
        return this.close(badReply(this.operationId, "an end without an answer"));
    }
  }

  protected fail(error: CallError): void {
    this.reject(error);
  }
}

/** The other side said something that the protocol does not know. */
export function badReply(operationId: string, what: string): CallError {
  return new CallError("BAD_RESPONSE", `"${operationId}" was answered with ${what}.`, { operationId });
}
