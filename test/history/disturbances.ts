import type { HistoryEvent } from "./events.ts";

/** Time in which delayed frames may still arrive after a link was restored, in ms. */
const aftermath = 1_000;

/** When something was broken. */
export interface Disturbance {
  readonly transport: string;
  readonly fault: string;
  readonly from: number;
  /** Infinite when it was never healed. */
  readonly to: number;
}

/** The times between each fault and its healing. */
export function findDisturbances(events: readonly HistoryEvent[]): Disturbance[] {
  const healed = new Map(events.flatMap((event) => (event.kind === "healed" ? [[event.id, event.at] as const] : [])));
  return events.flatMap((event) => {
    if (event.kind !== "injected") return [];
    const { transport, fault, at, id } = event;
    return [{ transport, fault, from: at, to: healed.get(id) ?? Number.POSITIVE_INFINITY }];
  });
}

/** Tells whether anything on a transport was broken, or had just been, at any time between two moments. */
export function wasDisturbed(all: readonly Disturbance[], transport: string, from: number, to: number): boolean {
  return all.some(
    (disturbance) =>
      disturbance.transport === transport && disturbance.from <= to && disturbance.to + aftermath >= from,
  );
}

/** For how long, between two moments, a link or the broker of a transport was broken, or had just been. In ms. */
export function cutTime(all: readonly Disturbance[], transport: string, from: number, to: number): number {
  let total = 0;
  let counted = from;
  const cuts = all.filter(
    (disturbance) => disturbance.transport === transport && /^(link|broker)/.test(disturbance.fault),
  );
  for (const cut of cuts.sort((a, b) => a.from - b.from)) {
    const begin = Math.max(counted, cut.from);
    const end = Math.min(to, cut.to + aftermath);
    if (end <= begin) continue;
    total += end - begin;
    counted = end;
  }
  return total;
}
