import { toReason } from "../../internal/text.ts";
import { CallError } from "../../operation/index.ts";

/** Number of listeners that Node adds to the signal of one socket. */
const listenersPerSocket = 2;

/** Describes a failed connection to a broker. */
interface Unconnected {
  /** The name of the software, such as `NATS`. */
  server: string;
  /** Addresses of the broker. The part before an `@` is not reported, because it can contain credentials. */
  addresses: readonly string[];
  cause: unknown;
}

/** `UNAVAILABLE`: the first connection to a broker failed. */
export function cannotConnect({ server, addresses, cause }: Unconnected): CallError {
  const where = describe(server, addresses);
  const message = `Cannot connect to the ${where}: ${toReason(cause)}. Check that it is running and that the address is correct.`;
  return new CallError("UNAVAILABLE", message, undefined, { cause, retryable: true, mayHaveRun: false });
}

/** `UPSTREAM_DENIED`: the broker requires other credentials. `advice` names the option for them. */
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
 * Creates a controller that destroys the socket of a client that has one socket at a time, even while it is connecting.
 * Node never removes the listeners of a socket from its `signal`. This signal keeps only those of the latest socket, so
 * that a client that reconnects for days does not retain all its sockets.
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
