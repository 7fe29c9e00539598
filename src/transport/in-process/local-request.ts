import { Linked } from "../../internal/linked-set.ts";
import type { Identity } from "../../operation/index.ts";
import type { CallRequested, ReplyFrame, SendFollowUp, Transport } from "../transport.ts";

/**
 * A request that stays in this process and is its own entry in the bus's list of open calls, so that a call costs no
 * further object. Whoever makes one unlinks it at the end of the call, and ignores what comes later.
 */
export class LocalRequest extends Linked implements CallRequested {
  declare readonly type: "call.requested";
  declare readonly requestId: string;
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
  /** @internal */
  declare asker: Transport | undefined;
  /** @internal */
  declare server: Transport | undefined;
  /** @internal */
  declare onReply: ((frame: ReplyFrame) => void) | undefined;
  /** @internal */
  declare toServer: SendFollowUp | undefined;

  constructor(requestId: string, operationId: string, input: unknown) {
    super();
    this.type = "call.requested";
    this.requestId = requestId;
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
}
