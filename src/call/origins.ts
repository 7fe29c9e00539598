import type { RunningRequests } from "./drain.ts";

/** Handlers that call a peer, and the map that they call through. */
const peerMaps = new WeakMap<object, object>();

/** Handlers that reply themselves and never ask the map to do it, and what they run. */
const built = new WeakMap<object, RunningRequests>();

/** Notes that an operation's handler calls through `map`. */
export function markPeer(handler: object, map: object): void {
  peerMaps.set(handler, map);
}

/** The map that an operation's handler calls through, if it is a peer's. */
export function peerMapOf(handler: object): object | undefined {
  return peerMaps.get(handler);
}

/** Notes that a call handler replies to every request itself, and what it runs. */
export function markBuilt(handler: object, running: RunningRequests): void {
  built.set(handler, running);
}

/** The requests that a call handler runs which replies to every request itself. */
export function runningRequestsOf(handler: object): RunningRequests | undefined {
  return built.get(handler);
}
