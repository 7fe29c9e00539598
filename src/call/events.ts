import { type Static, Type } from "typebox";
import { OperationSpecSchema, ResponseEnvelopeSchema } from "../operation/index.ts";

const requestId = Type.String();

const IdentitySchema = Type.Object({
  id: Type.String(),
  scopes: Type.Array(Type.String()),
  resources: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
});

const ProgressSchema = Type.Object({
  progress: Type.Number(),
  total: Type.Optional(Type.Number()),
  message: Type.Optional(Type.String()),
});

/** The events of the call protocol by name: what each carries, over every transport. */
export const CallEventMap = {
  "call.requested": Type.Object({
    requestId,
    operationId: Type.String(),
    input: Type.Optional(Type.Unknown()),
    parentRequestId: Type.Optional(Type.String()),
    rootRequestId: Type.Optional(Type.String({ description: "The first request that led to this one" })),
    depth: Type.Optional(Type.Integer({ minimum: 0, description: "How many calls stand above this one" })),
    timeout: Type.Optional(Type.Number({ description: "Milliseconds left when it was sent" })),
    token: Type.Optional(Type.String()),
    identity: Type.Optional(IdentitySchema),
    metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    credit: Type.Optional(Type.Integer({ description: "For subscriptions: how many values may be sent at first" })),
    creditBytes: Type.Optional(
      Type.Integer({ minimum: 1, description: "For subscriptions: how many bytes may be sent and not yet taken" }),
    ),
  }),
  "call.responded": Type.Object({
    requestId,
    output: ResponseEnvelopeSchema,
    seq: Type.Optional(Type.Integer({ description: "For subscriptions: counts from 0" })),
    creditDue: Type.Optional(Type.Boolean({ description: "For subscriptions: send call.credited with this value" })),
  }),
  "call.progressed": Type.Object({ requestId, progress: ProgressSchema }),
  "call.credited": Type.Object({ requestId, count: Type.Integer() }),
  "call.completed": Type.Object({ requestId }),
  "call.aborted": Type.Object({ requestId, reason: Type.Optional(Type.String()) }),
  "call.error": Type.Object({
    requestId,
    code: Type.String(),
    message: Type.String(),
    details: Type.Optional(Type.Unknown()),
    retryable: Type.Boolean(),
    mayHaveRun: Type.Boolean(),
  }),
  "peer.announced": Type.Object({ peerId: Type.String(), specs: Type.Array(OperationSpecSchema) }),
  "peer.left": Type.Object({ peerId: Type.String() }),
};

/** The same under its other name. @alias */
export const CallEventSchema = CallEventMap;

/** What each event of the call protocol carries, by name. */
export type CallEventMap = { [Name in keyof typeof CallEventMap]: Static<(typeof CallEventMap)[Name]> };
