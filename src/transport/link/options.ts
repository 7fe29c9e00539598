import { type Identity, type Limits, type OperationSpec, resolveLimits } from "../../operation/index.ts";
import type { FrameLimits } from "../codec/index.ts";

/** What a link may cost, and how it listens. */
export interface LinkOptions extends FrameLimits {
  /** Largest message that is taken from the other side, in bytes; `maxMessage` is the largest that is sent. */
  maxReceived: number;
  callsPerConnection: number;
  subscriptionsPerConnection: number;
  bufferedBytes: number;
  /** Milliseconds between signs of life. 0 sends none. */
  heartbeat: number;
  /** Whom the channel has authenticated. */
  identity?: Identity;
  /** Whether the other side's claims to serve operations are heard. */
  acceptsOperations: boolean;
  /** Whether a request's `identity` field is passed on; otherwise nobody sees it. */
  passesIdentity: boolean;
  /** Whether the other side is told of an operation. @default of all */
  shows?: (spec: OperationSpec) => boolean;
}

/** What a link is told about limits. */
export type LinkLimits = Pick<
  LinkOptions,
  "maxMessage" | "maxReceived" | "jsonDepth" | "callsPerConnection" | "subscriptionsPerConnection" | "bufferedBytes"
>;

/** The limits of a link out of what a user gave, with the defaults for the rest. */
export function toLinkLimits(limits: Limits | undefined): LinkLimits {
  const { maxMessage, jsonDepth, callsPerConnection, subscriptionsPerConnection, bufferedBytes } =
    resolveLimits(limits);
  return {
    maxMessage,
    maxReceived: maxMessage,
    jsonDepth,
    callsPerConnection,
    subscriptionsPerConnection,
    bufferedBytes,
  };
}
