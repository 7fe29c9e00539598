/** Handlers that call a peer, and the map that they call through. */
const peerMaps = new WeakMap<object, object>();

/** Handlers that reply themselves and never ask the map to do it. */
const built = new WeakSet<object>();

/** Notes that an operation's handler calls through `map`. */
export function markPeer(handler: object, map: object): void {
  peerMaps.set(handler, map);
}

/** The map that an operation's handler calls through, if it is a peer's. */
export function peerMapOf(handler: object): object | undefined {
  return peerMaps.get(handler);
}

/** Notes that a call handler replies to every request itself. */
export function markBuilt(handler: object): void {
  built.add(handler);
}

/** Whether a call handler replies to every request itself. */
export function isBuilt(handler: object): boolean {
  return built.has(handler);
}
