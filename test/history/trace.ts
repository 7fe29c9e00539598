import type { Aborted, Asked, Ended, Forged, HistoryEvent, Received, Settled, Started, Stopped } from "./events.ts";

/** Everything that was written down about one call. */
export interface Trace {
  readonly call: string;
  asked?: Asked;
  forged?: Forged;
  aborted?: Aborted;
  readonly settled: Settled[];
  readonly started: Started[];
  readonly stopped: Stopped[];
  readonly ended: Ended[];
  readonly received: Received[];
}

/** Sorts events by the call that they belong to. */
export function traceCalls(events: readonly HistoryEvent[]): Trace[] {
  const traces = new Map<string, Trace>();
  for (const event of events) {
    if (!("call" in event)) continue;
    let trace = traces.get(event.call);
    if (trace === undefined) {
      trace = { call: event.call, settled: [], started: [], stopped: [], ended: [], received: [] };
      traces.set(event.call, trace);
    }
    add(trace, event);
  }
  return [...traces.values()];
}

function add(trace: Trace, event: Extract<HistoryEvent, { call: string }>): void {
  switch (event.kind) {
    case "asked":
      trace.asked = event;
      break;
    case "forged":
      trace.forged = event;
      break;
    case "aborted":
      trace.aborted ??= event;
      break;
    case "settled":
      trace.settled.push(event);
      break;
    case "started":
      trace.started.push(event);
      break;
    case "stopped":
      trace.stopped.push(event);
      break;
    case "ended":
      trace.ended.push(event);
      break;
    case "received":
      trace.received.push(event);
  }
}

/** All events of a call but the values, in order. */
export function eventsOf(trace: Trace): HistoryEvent[] {
  const { asked, forged, aborted, settled, started, stopped, ended } = trace;
  const single = [asked, forged, aborted].filter((event) => event !== undefined);
  return [...single, ...settled, ...started, ...stopped, ...ended].sort((a, b) => a.at - b.at);
}
