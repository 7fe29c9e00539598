import type { Static } from "typebox";
import { BoundedMap } from "../internal/bounded.ts";
import { pause } from "../internal/wait.ts";
import { type OperationContext, Type } from "../operation/inside.ts";
import { callSchema, isAdmin } from "./call-queries.ts";
import { type CallRecord, conditionsOf, type RecordConditions } from "./call-records.ts";
import type { History } from "./history.ts";
import { enterReaders } from "./live-calls.ts";

/** Maximum number of running calls that a reader remembers between two reports. */
const maxStarted = 1_000;

/** Input of `hub.activity`. */
export const activityInput = Type.Object({
  every: Type.Integer({
    default: 250,
    minimum: 100,
    maximum: 60_000,
    description: "Time between two reports, in milliseconds.",
  }),
  limit: Type.Integer({
    default: 200,
    minimum: 0,
    maximum: 1_000,
    description: "Maximum number of calls in one report.",
  }),
});

/** What happened since the report before. The numbers are exact; `calls` may be a part. */
export const activityOutput = Type.Object({
  started: Type.Integer({ description: "Number of calls that have started." }),
  succeeded: Type.Integer(),
  failed: Type.Integer(),
  running: Type.Integer({ description: "Number of calls that are running now." }),
  skipped: Type.Integer({ description: "Number of calls that are counted, but not in calls." }),
  calls: Type.Array(callSchema, { description: "Calls that have ended, and those that are running for longer." }),
});

type Report = Static<typeof activityOutput>;

/**
 * Reports calls at intervals. A slow reader misses calls, but no number: it never fails. The first report has the calls
 * that are running.
 */
export async function* watchActivity(
  history: Pick<History, "findRunning" | "onCall">,
  readers: Map<string, number>,
  { every, limit }: { every: number; limit: number },
  { identity, signal }: OperationContext,
): AsyncGenerator<Report> {
  const filter: RecordConditions = isAdmin(identity) ? {} : { identity: identity?.id ?? null };
  const conditions = conditionsOf(filter);
  const leave = enterReaders("hub.activity", readers, identity);
  const started = new BoundedMap<string, CallRecord>(maxStarted);
  const running = history.findRunning({ ...filter, limit: 10_000 });
  let report = { started: 0, succeeded: 0, failed: 0, skipped: 0, calls: running.slice(0, limit).map(withoutPayload) };
  let runningCount = running.length;
  let isChanged = true;
  const stop = history.onCall((record) => {
    if (!conditions.every((condition) => condition.matches(record))) return;
    isChanged = true;
    const key = `${record.requestId} ${record.identity ?? ""}`;
    if (record.status === "running") {
      report.started += 1;
      runningCount += 1;
      started.set(key, record);
      return;
    }
    started.delete(key);
    runningCount = Math.max(0, runningCount - 1);
    report[record.status] += 1;
    if (report.calls.length < limit) report.calls.push(withoutPayload(record));
    else report.skipped += 1;
  });
  try {
    while (!signal.aborted) {
      if (isChanged) {
        const next = report;
        report = { started: 0, succeeded: 0, failed: 0, skipped: 0, calls: [] };
        isChanged = false;
        const long = [...started.values()].slice(0, Math.max(0, limit - next.calls.length)).map(withoutPayload);
        started.clear();
        yield { ...next, calls: [...next.calls, ...long], running: runningCount };
      }
      await pause(every, signal).catch(() => {}); // The reader has left.
    }
  } finally {
    stop();
    leave();
  }
}

function withoutPayload({ payload: _, ...record }: CallRecord): Report["calls"][number] {
  return record;
}
