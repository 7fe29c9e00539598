import { defaultLimits, type Limits } from "../../operation/index.ts";
import type { LinkOptions } from "./link.ts";

/** What a link is told about limits. */
export type LinkLimits = Pick<
  LinkOptions,
  "maxMessage" | "maxReceived" | "jsonDepth" | "callsPerConnection" | "subscriptionsPerConnection" | "bufferedBytes"
>;

/** The limits of a link out of what a user gave, with the defaults for the rest. */
export function toLinkLimits(limits: Limits = {}): LinkLimits {
  const { maxMessage, jsonDepth, callsPerConnection, subscriptionsPerConnection, bufferedBytes } = {
    ...defaultLimits,
    ...limits,
  };
  return {
    maxMessage,
    maxReceived: maxMessage,
    jsonDepth,
    callsPerConnection,
    subscriptionsPerConnection,
    bufferedBytes,
  };
}
