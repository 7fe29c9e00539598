import type { HubStats } from "./api.ts";
import { ask, hubTime } from "./hub.ts";

const minuteMs = 60_000;
const maxPoints = 60;

/** A point of a series. */
export type StatsPoint = NonNullable<HubStats["series"]>[number];

/** Numbers of a period, and a point for each of its parts. */
export interface Series extends HubStats {
  points: StatsPoint[];
}

/** Loads the numbers of a period that ends now, and a point for each of its parts, also for those without calls. */
export async function loadSeries(length: number, operationId: string | undefined, abort: AbortSignal): Promise<Series> {
  const step = minuteMs * Math.ceil(length / maxPoints / minuteMs);
  const since = hubTime() - length;
  const stats = await ask<HubStats>("stats", { since, step, ...(operationId && { operationId }) }, abort);
  const known = new Map(stats.series?.map((point) => [point.at, point]));
  const count = Math.min(2 * maxPoints, Math.ceil((stats.until - stats.since) / step));
  const points = Array.from({ length: count }, (_, index) => {
    const at = stats.since + index * step;
    return known.get(at) ?? { at, calls: 0, failed: 0 };
  });
  return { ...stats, points };
}
