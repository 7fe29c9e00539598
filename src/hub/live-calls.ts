import { CallError, type Identity, type OperationContext, overloaded } from "../operation/inside.ts";
import { isAdmin } from "./call-queries.ts";
import type { CallRecord } from "./call-records.ts";
import type { History } from "./history.ts";

/** Maximum number of calls that a slow reader has not read. */
const maxUnread = 1_000;
/** Maximum number of readers that have the same identity. */
const maxReaders = 10;
const tooSlow = "The reader of hub.calls is too slow. Subscribe again, or to one operation.";

/** Selects calls. */
export interface LiveFilter {
  /** Only calls of this operation. */
  operationId?: string | undefined;
  /** Only the call with this id and those that it makes. */
  requestId?: string | undefined;
}

/**
 * Yields each call when it starts, as a running one, and when it has ended: those of the caller, or of all callers with
 * `hub:admin`. The record of a call is created once for all readers.
 * @param readers - number of readers by identity
 */
export async function* watchCalls(
  history: Pick<History, "onCall">,
  readers: Map<string, number>,
  filter: LiveFilter,
  { identity, signal }: OperationContext,
): AsyncGenerator<Omit<CallRecord, "payload">> {
  const leave = enterReaders("hub.calls", readers, identity);
  const seesAll = isAdmin(identity);
  const isSelected = createFilter(filter);
  const unread: CallRecord[] = [];
  let isTooSlow = false;
  let wake = () => {};
  const stop = history.onCall((record) => {
    if (!(seesAll || record.identity === identity?.id) || !isSelected(record)) return;
    if (unread.length < maxUnread) unread.push(record);
    else {
      isTooSlow = true;
      stop();
    }
    wake();
  });
  const onAbort = () => wake();
  signal.addEventListener("abort", onAbort);
  try {
    while (!signal.aborted) {
      for (const { payload: _, ...call } of unread.splice(0)) yield call;
      if (isTooSlow) throw new CallError("OVERFLOW", tooSlow);
      if (unread.length > 0 || signal.aborted) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    stop();
    leave();
  }
}

/** Counts a reader of an operation, and returns the function that ends it. Throws if its identity has too many. */
export function enterReaders(
  operationId: string,
  readers: Map<string, number>,
  identity: Identity | undefined,
): () => void {
  const key = identity?.id ?? "";
  const count = readers.get(key) ?? 0;
  if (count >= maxReaders)
    throw overloaded(`Too many subscriptions of ${operationId} have the same caller`, maxReaders);
  readers.set(key, count + 1);
  return () => {
    const left = readers.get(key)! - 1;
    if (left === 0) readers.delete(key);
    else readers.set(key, left);
  };
}

function createFilter({ operationId, requestId }: LiveFilter): (call: CallRecord) => boolean {
  const tree = new Set([requestId]);
  return (call) => {
    if (operationId !== undefined && call.operationId !== operationId) return false;
    if (requestId === undefined) return true;
    const isBelow = call.parentRequestId !== undefined && tree.has(call.parentRequestId);
    if (isBelow && call.status === "running") tree.add(call.requestId);
    const isSelected = tree.has(call.requestId);
    if (isSelected && call.status !== "running") tree.delete(call.requestId);
    return isSelected;
  };
}
