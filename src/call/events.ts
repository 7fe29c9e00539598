import type { TUnsafe } from "typebox";
import { array, object, type Shape } from "../internal/shape.ts";
import { envelopeFields, specFields, toObjectSchema } from "../operation/index.ts";
import { type Frame, frameFields, type PeerEvent } from "../transport/frames.ts";

/** The frame of each event of the call protocol, by name. */
export type CallEventMap = {
  [Type in (Frame | PeerEvent)["type"]]: Omit<
    Extract<Frame | PeerEvent, { type: Type }>,
    "type" | "expiresAt" | "isRemote"
  >;
};

/** Descriptions in the schemas, by the name of the field. */
const descriptions: Readonly<Record<string, string>> = {
  attempt: "Number of times that the request was sent again",
  depth: "Number of calls above this one",
  timeout: "Remaining time in ms when the request was sent",
  credit: "For subscriptions: number of values that may be sent before call.credited",
  creditBytes: "For subscriptions: maximum number of bytes that were sent and not yet consumed",
  sentAt: "Time of the caller's monotonic clock in ms",
  seq: "For subscriptions: number of the value, from 0",
  creditDue: "For subscriptions: send call.credited when this value is consumed",
};

/** The fields of every event. Unlike frames, they include those of a spec and of an envelope, which are checked elsewhere. */
const eventFields = {
  ...frameFields,
  "call.responded": { ...frameFields["call.responded"], output: object(envelopeFields) },
  "peer.announced": { ...frameFields["peer.announced"], specs: array(object(specFields)) },
};

/** The schemas of the call protocol's events, by name. They are the same over every transport. */
export const CallEventMap = Object.fromEntries(
  Object.entries(eventFields).map(([type, { type: _, ...fields }]) => [type, toObjectSchema(describeFields(fields))]),
) as { [Type in keyof CallEventMap]: TUnsafe<CallEventMap[Type]> };

function describeFields(shape: Shape): Shape {
  const described = Object.entries(shape).map(([name, field]) => [name, { ...field, description: descriptions[name] }]);
  return Object.fromEntries(described);
}

/** Alias of {@link CallEventMap}. @alias */
export const CallEventSchema = CallEventMap;
