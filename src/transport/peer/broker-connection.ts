import { toReason } from "../../internal/text.ts";
import { CallError } from "../../operation/index.ts";

/** How many listeners Node adds to the signal of one socket. */
const listenersPerSocket = 2;

/** A broker that could not be connected to. */
interface Unconnected {
  /** The name of the software, such as `NATS`. */
  server: string;
  /** Its addresses; what stands before an `@` is not reported. */
  addresses: readonly string[];
  cause: unknown;
}

/** `UNAVAILABLE`: the first connection to a broker failed. */
export function cannotConnect({ server, addresses, cause }: Unconnected): CallError {
  const where = describe(server, addresses);
  const message = `Cannot connect to the ${where}: ${toReason(cause)}. Is it running, and is the address right?`;
  return new CallError("UNAVAILABLE", message, undefined, { cause, retryable: true, mayHaveRun: false });
}

/** `UPSTREAM_DENIED`: the broker requires other credentials. `advice` names the option that they are passed in. */
export function credentialsRefused({ server, addresses, cause }: Unconnected, advice: string): CallError {
  const where = describe(server, addresses);
  const message = `The ${where} refused the connection: ${toReason(cause)}. ${advice}`;
  return new CallError("UPSTREAM_DENIED", message, undefined, { cause, retryable: false, mayHaveRun: false });
}

function describe(server: string, addresses: readonly string[]): string {
  if (addresses.length === 0) return `${server} server`;
  return `${server} server at ${addresses.map((address) => address.slice(address.lastIndexOf("@") + 1)).join(", ")}`;
}

/**
 * Destroys the socket of a client that has one socket at a time, also while it is connecting. Node keeps the listeners of
 * each socket at its `signal` for ever, so this signal keeps those of the latest socket only: a client that reconnects for
 * days must not retain all its sockets.
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
