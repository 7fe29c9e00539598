import { Linked, LinkedSet } from "./linked-set.ts";

/** A listener that is notified when a signal is aborted. */
export interface AbortListener extends Linked {
  /** Called once, unless it was unlinked before. */
  abort(reason: unknown): void;
}

const listeners = new WeakMap<AbortSignal, LinkedSet<AbortListener>>();

/** Signals with the event listener of this module, including signals that no longer have an `AbortListener`. */
let listenedTo: AbortSignal[] = [];
const minSignalsToSweep = 64;
let sweepAt = minSignalsToSweep;

/**
 * Calls `listener.abort(signal.reason)` when the signal fires; `listener.unlink()` cancels that. A signal has one
 * event listener for all calls that share it: adding and removing one for each call costs more than the call.
 */
export function listenForAbort(signal: AbortSignal, listener: AbortListener): void {
  let members = listeners.get(signal);
  if (members === undefined) {
    if (listenedTo.length >= sweepAt) sweep();
    members = new LinkedSet();
    signal.addEventListener("abort", fire, { once: true });
    listeners.set(signal, members);
    listenedTo.push(signal);
  }
  members.add(listener);
}

/** Calls `listener` when the signal fires, like {@link listenForAbort}. Returns a function that removes it. */
export function onAbort(signal: AbortSignal | undefined, listener: (reason: unknown) => void): () => void {
  if (signal === undefined) return () => {};
  const member = new FunctionListener(listener);
  listenForAbort(signal, member);
  return () => member.unlink();
}

class FunctionListener extends Linked implements AbortListener {
  readonly abort: (reason: unknown) => void;

  constructor(abort: (reason: unknown) => void) {
    super();
    this.abort = abort;
  }
}

function fire(this: unknown, event: Event): void {
  const signal = event.target as AbortSignal;
  const members = listeners.get(signal);
  if (members === undefined) return;
  listeners.delete(signal);
  for (let listener = members.shift(); listener !== undefined; listener = members.shift())
    listener.abort(signal.reason);
}

/**
 * Stops listening to signals without an `AbortListener`. Node keeps a signal of `AbortSignal.timeout` or `AbortSignal.any`
 * alive for as long as it has a listener. Runs rarely, so that the cost per signal is constant.
 */
function sweep(): void {
  listenedTo = listenedTo.filter((signal) => {
    const members = listeners.get(signal);
    if (members === undefined) return false;
    if (!members.isEmpty) return true;
    signal.removeEventListener("abort", fire);
    listeners.delete(signal);
    return false;
  });
  sweepAt = Math.max(minSignalsToSweep, 2 * listenedTo.length);
}

type Events = { setMaxListeners?: (count: number, target: EventTarget) => void };

const events = (
  globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } }
).process?.getBuiltinModule?.("node:events") as Events | undefined;

/** Prevents a warning of Node about a signal to which third-party code adds one listener for every request. */
export function allowManyListeners(signal: AbortSignal): void {
  events?.setMaxListeners?.(0, signal);
}
