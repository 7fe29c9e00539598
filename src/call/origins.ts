import type { RunningRequests } from "./drain.ts";

/** Handlers that reply themselves and never ask the map to do it, and what they run. */
const built = new WeakMap<object, RunningRequests>();

/** Notes that a call handler replies to every request itself, and what it runs. */
export function markBuilt(handler: object, running: RunningRequests): void {
  built.set(handler, running);
}

/** The requests that a call handler runs which replies to every request itself. */
export function runningRequestsOf(handler: object): RunningRequests | undefined {
  return built.get(handler);
}
