import type { TUnsafe } from "typebox";
import { toObjectSchema } from "../operation/index.ts";
import { type Frame, frameFields, type PeerEvent } from "../transport/frames.ts";

/** What each event of the call protocol carries, by name. */
export type CallEventMap = {
  [Type in (Frame | PeerEvent)["type"]]: Omit<
    Extract<Frame | PeerEvent, { type: Type }>,
    "type" | "expiresAt" | "isRemote"
  >;
};

/** The events of the call protocol by name: what each carries, over every transport. */
export const CallEventMap = Object.fromEntries(
  Object.entries(frameFields).map(([type, { type: _, ...fields }]) => [type, toObjectSchema(fields)]),
) as { [Type in keyof CallEventMap]: TUnsafe<CallEventMap[Type]> };

/** The same under its other name. @alias */
export const CallEventSchema = CallEventMap;
