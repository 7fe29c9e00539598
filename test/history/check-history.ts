import { checkCall } from "./check-call.ts";
import { checkRun } from "./check-run.ts";
import { findDisturbances } from "./disturbances.ts";
import type { HistoryEvent } from "./events.ts";
import { groupBy } from "./group-by.ts";
import { defaultPromises, type Promises } from "./promises.ts";
import { traceCalls } from "./trace.ts";
import type { Violation } from "./violation.ts";

/**
 * Reads what happened and reports which promise was broken, by which call, and which events show it. Knows nothing of the
 * library. The history must be whole: a start that was not recorded did not happen.
 */
export function checkHistory(events: readonly HistoryEvent[], promises: Partial<Promises> = {}): Violation[] {
  const ordered = [...events].sort((a, b) => a.at - b.at);
  const promised = { ...defaultPromises, ...promises };
  const traces = traceCalls(ordered);
  const surroundings = {
    promises: promised,
    disturbances: findDisturbances(ordered),
    killed: new Map(ordered.flatMap((event) => (event.kind === "killed" ? [[event.who, event.at] as const] : []))),
    loops: groupBy(
      ordered.filter((event) => event.kind === "loop"),
      ({ by }) => by,
    ),
    end: ordered.at(-1)?.at ?? 0,
  };
  return [...traces.flatMap((trace) => checkCall(trace, surroundings)), ...checkRun(ordered, traces, promised)];
}
