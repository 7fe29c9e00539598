import { toReason } from "../../internal/text.ts";
import { CallError, isCallError, unavailable } from "../../operation/index.ts";

/** `BAD_RESPONSE`: what came over the bus is no text. */
export function badMessage(cause: unknown): CallError {
  return new CallError("BAD_RESPONSE", "A message on the bus is not UTF-8.", undefined, { cause });
}

/** `BAD_RESPONSE`: what came over the bus is larger than anything a peer sends. */
export function messageTooLarge(): CallError {
  return new CallError("BAD_RESPONSE", "A message on the bus is too large.");
}

/** A server that could not be connected to. */
interface Unconnected {
  /** What it is called, such as `NATS`. */
  server: string;
  /** Where it should be; what stands before an `@` is not told. */
  addresses: readonly string[];
  cause: unknown;
}

/** `UNAVAILABLE`: there is no connection to begin with. */
export function cannotConnect({ server, addresses, cause }: Unconnected): CallError {
  const where = toWhere(server, addresses);
  const message = `Cannot connect to the ${where}: ${toReason(cause)}. Is it running, and is the address right?`;
  return new CallError("UNAVAILABLE", message, undefined, { cause, retryable: true, mayHaveRun: false });
}

/** `UPSTREAM_DENIED`: the server is there, and wants other credentials. `advice` says where they are given. */
export function credentialsRefused({ server, addresses, cause }: Unconnected, advice: string): CallError {
  const where = toWhere(server, addresses);
  const message = `The ${where} refused the connection: ${toReason(cause)}. ${advice}`;
  return new CallError("UPSTREAM_DENIED", message, undefined, { cause, retryable: false, mayHaveRun: false });
}

function toWhere(server: string, addresses: readonly string[]): string {
  if (addresses.length === 0) return `${server} server`;
  return `${server} server at ${addresses.map((address) => address.slice(address.lastIndexOf("@") + 1)).join(", ")}`;
}

/** `UNAVAILABLE`: the connection to the engine is not there now. Nothing was sent. */
export function notConnected(name: string): CallError {
  return unavailable(`The server of the ${name} transport`, { mayHaveRun: false });
}

/** The same for what an engine failed with when it was to do something else than to send. */
export function orNotConnected(name: string, error: unknown): CallError {
  if (isCallError(error)) return error;
  return unavailable(`The server of the ${name} transport`, { mayHaveRun: false, cause: error });
}

/** `UNAVAILABLE`: the connection to the engine was lost while calls were pending, and answers with it. */
export function linkLost(name: string, cause: Error): CallError {
  return unavailable(`The connection of the ${name} transport was lost; its server`, { mayHaveRun: true, cause });
}

/** `UNAVAILABLE`: the peer that had taken a call is gone. */
export function workerGone(operationId: string, mayHaveRun = true): CallError {
  return unavailable(`The peer that had taken "${operationId}" is gone and`, { mayHaveRun });
}

/** `UNAVAILABLE`: no worker has acknowledged a request within two heartbeats, and it was withdrawn. */
export function unacknowledged(operationId: string, mayHaveRun: boolean): CallError {
  const message = `No worker acknowledged "${operationId}" within two heartbeats, so the request was withdrawn.`;
  return new CallError("UNAVAILABLE", message, undefined, { retryable: true, mayHaveRun });
}

/** `UNAVAILABLE`: a request that another worker may have started came to a worker where it must not run again. */
export function notMovable(operationId: string): CallError {
  const message = `The worker of "${operationId}" was lost, and another one does not run it again.`;
  return new CallError("UNAVAILABLE", message, undefined, { retryable: true, mayHaveRun: true });
}

/** `EXECUTION_ERROR`: every worker that took the request died before it answered. */
export function poisonous(operationId: string): CallError {
  const message = `"${operationId}" was given up: every worker that took this request died with it.`;
  return new CallError("EXECUTION_ERROR", message, { operationId }, { retryable: false, mayHaveRun: true });
}
