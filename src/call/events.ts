import { type TSchema, type TUnsafe, Type } from "typebox";
import { OperationSpecSchema, ResponseEnvelopeSchema } from "../operation/index.ts";
import { type CallRunning, type Frame, frameFields, type PeerEvent } from "../transport/frames.ts";
import type { Field, Shape } from "../transport/shape.ts";

/** The frame of each event of the call protocol, by name. */
export type CallEventMap = {
  [Type in (Frame | CallRunning | PeerEvent)["type"]]: Omit<
    Extract<Frame | CallRunning | PeerEvent, { type: Type }>,
    "type" | "expiresAt" | "isRemote"
  >;
};

/** Descriptions in the schemas, by the name of the field. */
const descriptions: Readonly<Record<string, string>> = {
  depth: "Number of calls above this one",
  timeout: "Remaining time in ms when the request was sent",
  credit: "For subscriptions: number of values that may be sent before call.credited",
  creditBytes: "For subscriptions: maximum number of bytes that were sent and not yet consumed",
  heartbeat: "Interval in ms at which the caller expects call.running",
  sentAt: "Time of the caller's monotonic clock in ms",
  seq: "For subscriptions: number of the value, from 0",
  creditDue: "For subscriptions: send call.credited when this value is consumed",
};

/** The schemas of objects in frames, by the name of the field. Frames are not checked against them. */
const objects: Readonly<Record<string, TSchema>> = {
  identity: Type.Object({
    id: Type.String(),
    scopes: Type.Array(Type.String()),
    resources: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
  }),
  metadata: Type.Record(Type.String(), Type.Unknown()),
  output: ResponseEnvelopeSchema,
  progress: Type.Object({
    progress: Type.Number(),
    total: Type.Optional(Type.Number()),
    message: Type.Optional(Type.String()),
  }),
  specs: Type.Array(OperationSpecSchema),
};

/** The schemas of the call protocol's events, by name. They are the same over every transport. */
export const CallEventMap = Object.fromEntries(
  Object.entries(frameFields).map(([type, fields]) => [type, toEventSchema(fields)]),
) as { [Type in keyof CallEventMap]: TUnsafe<CallEventMap[Type]> };

/** Alias of {@link CallEventMap}. @alias */
export const CallEventSchema = CallEventMap;

/** The schema of an event. Additional properties are allowed. */
function toEventSchema({ type: _, ...fields }: Shape): TSchema {
  const properties = Object.entries(fields).map(([name, field]) => {
    const description = descriptions[name];
    const schema = objects[name] ?? toSchema(field, description === undefined ? {} : { description });
    // JSON drops `undefined`, so a field that allows any value may be missing.
    return [name, field.isOptional || field.kind === "unknown" ? Type.Optional(schema) : schema];
  });
  return Type.Object(Object.fromEntries(properties));
}

function toSchema(field: Field, options: { description?: string }): TSchema {
  switch (field.kind) {
    case "string": {
      const { minLength, maxLength } = field;
      return Type.String({
        ...options,
        ...(minLength > 0 && { minLength }),
        ...(maxLength < Infinity && { maxLength }),
      });
    }
    case "number": {
      const { isInteger, min, max } = field;
      const limits = {
        ...(min > -Number.MAX_VALUE && { minimum: min }),
        ...(max < Number.MAX_VALUE && { maximum: max }),
      };
      return isInteger ? Type.Integer({ ...options, ...limits }) : Type.Number({ ...options, ...limits });
    }
    case "array":
      return Type.Array(toSchema(field.item, {}), options);
    case "boolean":
      return Type.Boolean(options);
    default:
      return Type.Unknown(options);
  }
}
