// What the operations of a hub return, for its console. `test/package/layers.ts` lists who may use it.
import type { Static } from "typebox";
import type { activityOutput } from "./activity.ts";
import type { callSchema, historyOutput, statsOutput } from "./call-queries.ts";
import type { accessSchema, checkSchema, statusSchema } from "./console-operations.ts";
import type { callTreeSchema, facetsSchema, sourceStateSchema } from "./management.ts";

/** `hub.access`. */
export type AccessReport = Static<typeof accessSchema>;
/** One report of `hub.activity`. */
export type Activity = Static<typeof activityOutput>;
/** A recorded or running call. */
export type CallRecord = Static<typeof callSchema>;
/** `hub.call`. */
export type CallTree = Static<typeof callTreeSchema>;
/** `hub.check`. */
export type CheckResult = Static<typeof checkSchema>;
/** The number of operations by the values of each filter. */
export type Facets = Static<typeof facetsSchema>;
/** `hub.history`. */
export type HistoryPage = Static<typeof historyOutput>;
/** `hub.stats`. */
export type HubStats = Static<typeof statsOutput>;
/** `hub.status`. */
export type HubStatus = Static<typeof statusSchema>;
/** One of `hub.sources`. */
export type SourceState = Static<typeof sourceStateSchema>;
