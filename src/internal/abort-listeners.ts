import { type Linked, LinkedSet } from "./linked-set.ts";

/** Something that wants to hear when a signal is aborted. */
export interface AbortListener extends Linked {
  /** Called once, unless it was unlinked before. */
  abort(reason: unknown): void;
}

const listeners = new WeakMap<AbortSignal, LinkedSet<AbortListener>>();

/**
 * Calls `listener.abort(signal.reason)` when the signal fires; `listener.unlink()` takes that back. A signal gets one
 * event listener however many calls share it: adding and removing one for each call costs more than the call.
 */
export function listenForAbort(signal: AbortSignal, listener: AbortListener): void {
  let members = listeners.get(signal);
  if (members === undefined) {
    members = new LinkedSet();
    signal.addEventListener("abort", onAbort, { once: true });
    listeners.set(signal, members);
  }
  members.add(listener);
}

function onAbort(this: unknown, event: Event): void {
  const signal = event.target as AbortSignal;
  const members = listeners.get(signal);
  if (members === undefined) return;
  listeners.delete(signal);
  for (let listener = members.shift(); listener !== undefined; listener = members.shift())
    listener.abort(signal.reason);
}
