import { cutTime, type Disturbance, wasDisturbed } from "./disturbances.ts";
import type { Asked, HistoryEvent, LoopHeldUp, Started } from "./events.ts";
import type { Promises } from "./promises.ts";
import { eventsOf, type Trace } from "./trace.ts";
import type { Invariant, Violation } from "./violation.ts";

/** What is known of the whole history when one call is looked at. */
export interface Surroundings {
  readonly promises: Promises;
  readonly disturbances: readonly Disturbance[];
  /** Who was killed, and when. */
  readonly killed: ReadonlyMap<string, number>;
  /** When event loops were blocked, by process. */
  readonly loops: ReadonlyMap<string, readonly LoopHeldUp[]>;
  /** When the last thing happened. */
  readonly end: number;
}

/** Finds the problems of one call. */
export function checkCall(trace: Trace, surroundings: Surroundings): Violation[] {
  const { asked, forged, started, call } = trace;
  if (forged !== undefined)
    return started.length === 0 ? [] : [violation(trace, "I12", "a forged request was started")];
  if (asked === undefined) return [violation(trace, "I3", `no caller asked for "${call}"`)];
  return [
    ...checkSettled(trace, asked, surroundings),
    ...started.flatMap((start) => checkStart(trace, asked, start, surroundings)),
    ...checkStarts(trace),
    ...checkOutcome(trace, asked),
    ...checkValues(trace, asked),
    ...started.flatMap((start) => checkLeftRunning(trace, asked, start, surroundings)),
    ...started.flatMap((start) => checkLoss(trace, asked, start, surroundings)),
  ];
}

function checkSettled(trace: Trace, asked: Asked, surroundings: Surroundings): Violation[] {
  const { promises, killed } = surroundings;
  const [settled, second] = trace.settled;
  if (second !== undefined) return [violation(trace, "I1", `it settled ${trace.settled.length} times`)];
  if (settled === undefined) return killed.has(asked.by) ? [] : [violation(trace, "I1", "it never settled")];
  // A caller that reads values of a subscription slowly receives its end after all of them.
  const due = Math.max(asked.deadline ?? Number.POSITIVE_INFINITY, trace.received.at(-1)?.at ?? 0);
  if (settled.at - due <= promises.settle) return [];
  // A paused process cannot settle anything. Another guarantee covers that.
  const late = settled.at - due - heldUp(surroundings, asked.by, due, settled.at);
  if (late <= promises.settle) return [];
  return [violation(trace, "I1", `it settled ${inMs(late)} after its deadline`)];
}

function checkStart(trace: Trace, asked: Asked, start: Started, surroundings: Surroundings): Violation[] {
  const { promises, disturbances } = surroundings;
  const found: Violation[] = [];
  const tolerance = promises.start;
  const { deadline = Number.POSITIVE_INFINITY, transport } = asked;
  // After a pause of a broker, a request may arrive late.
  const isBroker = transport === "nats" || transport === "redis";
  if (isBroker && wasDisturbed(disturbances, transport, asked.at, start.at)) return found;
  if (start.at > deadline + tolerance) {
    found.push(violation(trace, "I2", `a handler started ${inMs(start.at - deadline)} after the deadline`));
  } else if (start.left !== undefined && start.at + start.left > deadline + tolerance) {
    const excess = start.at + start.left - deadline;
    found.push(violation(trace, "I2", `a handler was told ${inMs(excess)} more than was left`));
  }
  const aborted = trace.aborted?.at ?? Number.POSITIVE_INFINITY;
  if (start.at > aborted + promises.abort && !wasDisturbed(disturbances, transport, asked.at, start.at)) {
    found.push(violation(trace, "I2", `a handler started ${inMs(start.at - aborted)} after its caller had given up`));
  }
  return found;
}

function checkStarts(trace: Trace): Violation[] {
  const count = trace.started.length;
  return count <= 1 ? [] : [violation(trace, "I3", `it was started ${count} times`)];
}

function checkOutcome(trace: Trace, asked: Asked): Violation[] {
  const settled = trace.settled[0];
  const runs = trace.started.length;
  const found: Violation[] = [];
  if (asked.isDenied === true && (runs > 0 || settled?.outcome === "answered" || settled?.outcome === "completed")) {
    found.push(violation(trace, "I12", runs > 0 ? "a denied call was started" : "a denied call was answered"));
  }
  if (settled === undefined) return found;
  if (settled.outcome === "failed" && settled.mayHaveRun === false && runs > 0) {
    found.push(violation(trace, "I5", `it failed with ${settled.code} and mayHaveRun: false, but was started`));
  }
  if (settled.outcome === "answered" && settled.answer !== trace.call) {
    found.push(violation(trace, "I4", `its answer belongs to "${settled.answer}"`));
  }
  if ((settled.outcome === "answered" || settled.outcome === "completed") && runs === 0 && asked.isDenied !== true) {
    found.push(violation(trace, "I4", "it was answered, but no handler ran"));
  }
  return found;
}

function checkValues(trace: Trace, asked: Asked): Violation[] {
  const { received } = trace;
  const unexpected = received.findIndex(({ value }, index) => value !== index);
  if (unexpected >= 0) {
    const message = `value ${received[unexpected]!.value} came where ${unexpected} was due`;
    return [violation(trace, "I10", message, received.slice(Math.max(0, unexpected - 2), unexpected + 2))];
  }
  if (trace.settled[0]?.outcome !== "completed" || asked.values === undefined) return [];
  if (received.length === asked.values) return [];
  return [violation(trace, "I10", `it completed after ${received.length} of ${asked.values} values`)];
}

/** A handler without a waiting caller must be notified, and one that was started must not run forever. */
function checkLeftRunning(trace: Trace, asked: Asked, start: Started, surroundings: Surroundings): Violation[] {
  const { promises, disturbances, killed, end } = surroundings;
  const settled = trace.settled[0];
  const due = Math.max(
    start.at,
    Math.min(
      asked.deadline ?? Number.POSITIVE_INFINITY,
      trace.aborted?.at ?? Number.POSITIVE_INFINITY,
      settled !== undefined && settled.outcome !== "answered" ? settled.at : Number.POSITIVE_INFINITY,
    ),
  );
  const over = [...trace.stopped, ...trace.ended].find(({ by, at }) => by === start.by && at >= start.at)?.at;
  if (killed.has(start.by) || Math.min(over ?? end, end) <= due + promises.stop) return [];
  if (over === undefined) return [violation(trace, "I6", "a handler was never notified that no caller waits for it")];
  if (wasDisturbed(disturbances, asked.transport, due, due + promises.stop)) return [];
  return [violation(trace, "I6", `a handler was notified ${inMs(over - due)} late that no caller waits for it`)];
}

/** The caller of a worker that was killed is notified long before its deadline, however many other workers fail. */
function checkLoss(trace: Trace, asked: Asked, start: Started, surroundings: Surroundings): Violation[] {
  const { promises, killed, disturbances } = surroundings;
  const settled = trace.settled[0];
  const lostAt = Math.max(killed.get(start.by) ?? Number.POSITIVE_INFINITY, start.at);
  // An idempotent call continues at another worker. Values that were sent before the loss may be read at any later time.
  if (settled === undefined || asked.isIdempotent === true || asked.values !== undefined) return [];
  if (settled.at - lostAt <= promises.loss) return [];
  // A caller that is paused, or whose link or broker is cut, cannot be notified.
  const excused =
    cutTime(disturbances, asked.transport, lostAt, settled.at) + heldUp(surroundings, asked.by, lostAt, settled.at);
  if (settled.at - lostAt - excused <= promises.loss) return [];
  return [violation(trace, "I13", `it settled ${inMs(settled.at - lostAt)} after its worker was killed`)];
}

/** Returns how long the event loop of a process was blocked between two moments. */
function heldUp({ loops }: Surroundings, by: string, from: number, to: number): number {
  const overlaps = (loops.get(by) ?? []).map(({ at, delay }) => Math.min(at, to) - Math.max(at - delay, from));
  return overlaps.reduce((sum, overlap) => sum + Math.max(0, overlap), 0);
}

function violation(trace: Trace, invariant: Invariant, message: string, more: HistoryEvent[] = []): Violation {
  return { invariant, message, call: trace.call, events: [...eventsOf(trace), ...more].sort((a, b) => a.at - b.at) };
}

function inMs(milliseconds: number): string {
  return `${Math.round(milliseconds)} ms`;
}
