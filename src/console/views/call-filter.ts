import { createGlobs } from "../../internal/globs.ts";
import type { CallRecord, HistoryPage } from "../app/api.ts";

/** What a list of calls shows. The parameters of the address are its filters. */
export interface CallFilter {
  /** An id, or a pattern with `*`. */
  operationId?: string;
  status?: string;
  via?: string;
  identity?: string;
  source?: string;
  code?: string;
  minDuration?: number;
  roots?: boolean;
}

/** The names of the filters with a text in addresses. */
const params = {
  operationId: "op",
  status: "status",
  via: "via",
  identity: "who",
  source: "source",
  code: "code",
} as const;

/** Reads the filters of an address. */
export function readFilter(given: URLSearchParams): CallFilter {
  const texts = Object.entries(params).map(([name, param]) => [name, given.get(param) ?? ""] as const);
  const min = Number(given.get("min"));
  return {
    ...Object.fromEntries(texts.filter(([, value]) => value !== "")),
    ...(min > 0 && { minDuration: min }),
    ...(given.get("roots") === "1" && { roots: true }),
  };
}

/** Returns whether a call of the stream matches, as the hub decides it for recorded ones. */
export function createMatcher(filter: CallFilter): (call: CallRecord) => boolean {
  const { operationId, minDuration = 0, roots = false, ...equal } = filter;
  const isLike = operationId === undefined ? () => true : createGlobs([operationId]);
  const names = Object.keys(equal) as (keyof typeof equal)[];
  return (call) =>
    isLike(call.operationId) &&
    names.every((name) => call[name] === equal[name]) &&
    call.duration >= minDuration &&
    !(roots && call.parentRequestId !== undefined);
}

/**
 * Returns one list without repeats, the newest first: a call of the stream and its record are the same. Of calls that started
 * in the same millisecond, the one that made the other stands below it.
 */
export function mergeCalls(current: readonly CallRecord[], pages: readonly HistoryPage[]): CallRecord[] {
  const recorded = pages.flatMap(({ calls }) => calls);
  const ids = new Set(recorded.map(({ id }) => id));
  const others = current.filter(({ id }) => id === undefined || !ids.has(id));
  return [...others, ...recorded].sort(
    (one, other) => other.startedAt - one.startedAt || one.duration - other.duration,
  );
}
