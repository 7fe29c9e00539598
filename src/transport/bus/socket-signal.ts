/** How many listeners Node adds to the signal of one socket. */
const listenersPerSocket = 2;

/**
 * Destroys the socket of a client that has one socket at a time, also one that is not connected yet. Node leaves a listener
 * of each socket at its `signal` for ever, so this signal keeps those of the latest socket only: a client that reconnects
 * for days must not retain all its sockets.
 */
export function createSocketController(): AbortController {
  const controller = new AbortController();
  const { signal } = controller;
  const add = signal.addEventListener.bind(signal) as EventTarget["addEventListener"];
  const kept: Array<EventListenerOrEventListenerObject | null> = [];
  const addLatest: EventTarget["addEventListener"] = (type, listener, options) => {
    kept.push(listener);
    if (kept.length > listenersPerSocket) signal.removeEventListener(type, kept.shift()!);
    add(type, listener, options);
  };
  Object.defineProperty(signal, "addEventListener", { value: addLatest });
  return controller;
}
