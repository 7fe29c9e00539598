import { Linked } from "../../internal/linked-set.ts";
import { nextRequestId } from "../../internal/request-id.ts";
import type { Identity, ResponseEnvelope } from "../../operation/index.ts";
import type { CallRequested, CallResponded, ReplyFrame, SendFollowUp, Transport } from "../transport.ts";

/**
 * A request that stays in this process and is its own entry in the bus's list of open calls, so that a call costs no
 * further object. Whoever makes one unlinks it at the end of the call, and ignores what comes later.
 */
export class LocalRequest extends Linked implements CallRequested {
  declare readonly type: "call.requested";
  declare readonly operationId: string;
  declare input: unknown;
  declare parentRequestId?: string;
  declare rootRequestId?: string;
  declare depth?: number;
  declare timeout: number | undefined;
  declare token?: string;
  declare identity: Identity | undefined;
  declare metadata: Record<string, unknown> | undefined;
  declare credit?: number;
  declare creditBytes?: number;
  declare private id: string | undefined;
  /** @internal */
  declare asker: Transport | undefined;
  /** @internal */
  declare server: Transport | undefined;
  /** @internal */
  declare onReply: ((frame: ReplyFrame) => void) | undefined;
  /** @internal */
  declare toServer: SendFollowUp | undefined;

  /** @param requestId made when first read, if there is none: most calls are answered without anybody asking for it */
  constructor(requestId: string | undefined, operationId: string, input: unknown) {
    super();
    this.type = "call.requested";
    this.id = requestId;
    this.operationId = operationId;
    this.input = input;
    this.identity = undefined;
    this.metadata = undefined;
    this.timeout = undefined;
    this.asker = undefined;
    this.server = undefined;
    this.onReply = undefined;
    this.toServer = undefined;
  }

  get requestId(): string {
    this.id ??= nextRequestId();
    return this.id;
  }

  set requestId(id: string) {
    this.id = id;
  }
}

/** An answer that stays in this process. */
class LocalResponded implements CallResponded {
  declare readonly type: "call.responded";
  declare readonly output: ResponseEnvelope;
  declare private readonly request: LocalRequest;

  constructor(request: LocalRequest, output: ResponseEnvelope) {
    this.type = "call.responded";
    this.output = output;
    this.request = request;
  }

  get requestId(): string {
    return this.request.requestId;
  }
}

/** The one answer to a request. */
export function toResponded(request: CallRequested, output: ResponseEnvelope): CallResponded {
  if (request instanceof LocalRequest) return new LocalResponded(request, output);
  return { type: "call.responded", requestId: request.requestId, output };
}
