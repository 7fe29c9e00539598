import type { CallRecord } from "../app/api.ts";

/** A row of the tree of a call. */
export interface TreeRow {
  call: CallRecord;
  depth: number;
  /** Number of calls below it, at every depth. */
  below: number;
  hasChildren: boolean;
  /** Position within its parent's calls, from 1, and their number. */
  position: number;
  siblings: number;
  /** Start after the root started, in ms. */
  offset: number;
  /** In ms; until now while it runs. */
  duration: number;
  /** Whether it is on the path whose calls took the longest. */
  isSlowest: boolean;
}

/** The rows of a call and the calls below it, in the order in which they are shown. */
export interface TreeLayout {
  rows: TreeRow[];
  /** From the start of the root to the end of the last call, in ms; at least 1. */
  total: number;
}

/** Lays out a call and the calls below it. `calls[0]` is the root. `now` ends the bars of running calls. */
export function layoutTree(calls: readonly CallRecord[], folded: ReadonlySet<string>, now: number): TreeLayout {
  const [root] = calls;
  if (root === undefined) return { rows: [], total: 1 };
  const children = new Map<string, CallRecord[]>();
  for (const call of calls.slice(1)) {
    const parent = call.parentRequestId ?? "";
    children.set(parent, [...(children.get(parent) ?? []), call]);
  }
  const durationOf = (call: CallRecord) => call.duration ?? Math.max(0, now - call.startedAt);
  const below = new Map<CallRecord, number>();
  const order: { call: CallRecord; depth: number; siblings: readonly CallRecord[]; isSlowest: boolean }[] = [];
  const seen = new Set<CallRecord>();
  // With a stack of its own: a tree may be as deep as a person who attacks the page likes.
  const stack = [{ call: root, depth: 0, siblings: [root] as readonly CallRecord[], isSlowest: true }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (seen.has(next.call)) continue;
    seen.add(next.call);
    order.push(next);
    const own = children.get(next.call.requestId) ?? [];
    const slowest = own.reduce<CallRecord | undefined>(
      (most, one) => (most === undefined || durationOf(one) > durationOf(most) ? one : most),
      undefined,
    );
    for (const call of [...own].reverse()) {
      stack.push({ call, depth: next.depth + 1, siblings: own, isSlowest: next.isSlowest && call === slowest });
    }
  }
  for (const { call } of [...order].reverse()) {
    const own = (children.get(call.requestId) ?? []).filter((one) => one !== call);
    below.set(
      call,
      own.reduce((sum, one) => sum + 1 + (below.get(one) ?? 0), 0),
    );
  }
  const end = Math.max(...order.map(({ call }) => call.startedAt + durationOf(call)));
  let hiddenBelow = Number.POSITIVE_INFINITY;
  const rows = order.flatMap(({ call, depth, siblings, isSlowest }): TreeRow[] => {
    if (depth > hiddenBelow) return [];
    hiddenBelow = folded.has(call.requestId) ? depth : Number.POSITIVE_INFINITY;
    return [
      {
        call,
        depth,
        below: below.get(call)!,
        hasChildren: (children.get(call.requestId) ?? []).length > 0,
        position: siblings.indexOf(call) + 1,
        siblings: siblings.length,
        offset: call.startedAt - root.startedAt,
        duration: durationOf(call),
        isSlowest: isSlowest && depth > 0,
      },
    ];
  });
  return { rows, total: Math.max(1, end - root.startedAt) };
}

/** The share of the slowest leaf of the slowest path in the time of the root: what to look at first. */
export function slowestPath({ rows, total }: TreeLayout): { call: CallRecord; share: number } | undefined {
  const last = rows.findLast(({ isSlowest }) => isSlowest);
  return last === undefined ? undefined : { call: last.call, share: last.duration / total };
}
