import { type Disturbance, findDisturbances } from "./disturbances.ts";
import type { Asked, Healed, HistoryEvent, MemorySampled, Settled } from "./events.ts";
import { groupBy } from "./group-by.ts";
import type { Promises } from "./promises.ts";
import type { Trace } from "./trace.ts";
import type { Violation } from "./violation.ts";

/** Finds the problems of a whole run: what it left behind, how it grew, how it recovered. */
export function checkRun(events: readonly HistoryEvent[], traces: readonly Trace[], promises: Promises): Violation[] {
  return [
    ...events.flatMap((event) => checkEvent(event, promises)),
    ...checkMemory(events, promises),
    ...checkHealing(events, traces, promises),
  ];
}

function checkEvent(event: HistoryEvent, { loop, drain, secrets }: Promises): Violation[] {
  const events = [event];
  if (event.kind === "closed" && event.left.length > 0) {
    return [{ invariant: "I6", message: `${event.who} left behind: ${event.left.join(", ")}`, events }];
  }
  if (event.kind === "closed" && event.took !== undefined && event.took > drain) {
    return [{ invariant: "I6", message: `${event.who} took ${Math.round(event.took)} ms to drain`, events }];
  }
  if (event.kind === "loop" && loop !== undefined && event.delay > loop) {
    return [{ invariant: "I8", message: `${event.by} stood still for ${Math.round(event.delay)} ms`, events }];
  }
  if (event.kind === "rejected") return [{ invariant: "I9", message: event.message, events }];
  if (event.kind !== "settled") return [];
  const { message, call } = event;
  if (message === undefined || !secrets.some((secret) => message.includes(secret))) return [];
  return [{ invariant: "I9", message: "an error message tells a secret", call, events }];
}

/** Compares the quarter of a process's samples at the beginning with that at the end. */
function checkMemory(events: readonly HistoryEvent[], { memory }: Promises): Violation[] {
  const samples = groupBy(
    events.filter((event) => event.kind === "memory"),
    ({ by }) => by,
  );
  return [...samples].flatMap(([by, own]): Violation[] => {
    const quarter = Math.floor(own.length / 4);
    if (quarter === 0) return [];
    const first = median(own.slice(0, quarter));
    const last = median(own.slice(-quarter));
    const growth = last.bytes - first.bytes;
    if (growth <= memory) return [];
    const message = `${by} grew by ${(growth / 1024 / 1024).toFixed(1)} MiB`;
    return [{ invariant: "I7", message, events: [first, last] }];
  });
}

function median(samples: readonly MemorySampled[]): MemorySampled {
  return [...samples].sort((a, b) => a.bytes - b.bytes)[Math.floor(samples.length / 2)]!;
}

interface Attempt {
  asked: Asked;
  settled: Settled | undefined;
}

/** Every caller that continues after a fault was healed must get a response soon. */
function checkHealing(events: readonly HistoryEvent[], traces: readonly Trace[], promises: Promises): Violation[] {
  const disturbances = findDisturbances(events);
  const attempts = traces.flatMap(({ asked, settled }): Attempt[] =>
    asked === undefined || asked.isDenied === true ? [] : [{ asked, settled: settled[0] }],
  );
  const byTransport = groupBy(attempts, ({ asked }) => asked.transport);
  return events.flatMap((event) => {
    if (event.kind !== "healed" || isBrokenAgain(disturbances, event, promises.heal)) return [];
    const callers = groupBy(byTransport.get(event.transport) ?? [], ({ asked }) => asked.by);
    return [...callers].flatMap(([by, own]) => checkRecovery(event, by, own, promises.heal));
  });
}

function isBrokenAgain(all: readonly Disturbance[], { transport, at }: Healed, heal: number): boolean {
  return all.some((other) => other.transport === transport && other.from <= at + heal && other.to > at);
}

function checkRecovery(healed: Healed, by: string, own: readonly Attempt[], heal: number): Violation[] {
  const limit = healed.at + heal;
  const tried = own.filter(({ asked }) => asked.at >= healed.at && asked.at <= limit);
  if (tried.length === 0 || !own.some(({ asked }) => asked.at > limit)) return [];
  if (tried.some(({ settled }) => settled?.outcome === "answered" && settled.at <= limit)) return [];
  const message = `none of ${tried.length} calls of ${by} was answered within ${heal} ms`;
  const shown = [tried[0]!, tried.at(-1)!].flatMap(({ asked, settled }) => [asked, settled]);
  return [{ invariant: "I11", message, events: [healed, ...shown.filter((event) => event !== undefined)] }];
}
