import type { TUnsafe } from "typebox";
import { array, object } from "../internal/shape.ts";
import { specFields, toObjectSchema } from "../operation/index.ts";
import { type Frame, frameFields, type PeerEvent } from "../transport/frames.ts";

/** The frame of each event of the call protocol, by name. */
export type CallEventMap = {
  [Type in (Frame | PeerEvent)["type"]]: Omit<
    Extract<Frame | PeerEvent, { type: Type }>,
    "type" | "expiresAt" | "isRemote"
  >;
};

/** The fields of every event. Unlike frames, whose specs are checked at registration, they include those of a spec. */
const eventFields = {
  ...frameFields,
  "peer.announced": { ...frameFields["peer.announced"], specs: array(object(specFields)) },
};

/** The schemas of the call protocol's events, by name. They are the same over every transport. */
export const CallEventMap = Object.fromEntries(
  Object.entries(eventFields).map(([type, { type: _, ...fields }]) => [type, toObjectSchema(fields)]),
) as { [Type in keyof CallEventMap]: TUnsafe<CallEventMap[Type]> };

/** Alias of {@link CallEventMap}. @alias */
export const CallEventSchema = CallEventMap;
