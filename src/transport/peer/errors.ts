import { truncate } from "../../internal/text.ts";
import { CallError, isCallError, unavailable } from "../../operation/inside.ts";

/** `UNAVAILABLE`: the connection of a call, to a peer or to the broker, is lost. */
export function linkLost(transport: string, cause: Error | undefined, mayHaveRun: boolean): CallError {
  const reason = cause === undefined ? "it was closed" : truncate(cause.message, 400).replace(/\.$/, "");
  const message = `The connection of the ${transport} transport is lost: ${reason}.`;
  return new CallError("UNAVAILABLE", message, undefined, { retryable: true, mayHaveRun, cause });
}

/** `UNAVAILABLE`: the broker is not connected. Nothing was sent. */
export function notConnected(transport: string, cause?: unknown): CallError {
  return unavailable(`The server of the ${transport} transport is not available.`, { mayHaveRun: false, cause });
}

/** Returns a `CallError` unchanged, and converts every other failure of an adapter to {@link notConnected}. */
export function toAdapterError(transport: string, error: unknown): CallError {
  return isCallError(error) ? error : notConnected(transport, error);
}

/** `UNAVAILABLE`: the worker that had accepted a call is gone. */
export function workerGone(operationId: string, mayHaveRun = true): CallError {
  const message = `The worker that accepted "${operationId}" was lost before it replied.`;
  return new CallError("UNAVAILABLE", message, undefined, { retryable: true, mayHaveRun });
}

/** `UNAVAILABLE`: no worker has acknowledged a request within two heartbeats, and it was withdrawn. */
export function unacknowledged(operationId: string, mayHaveRun: boolean): CallError {
  const message = `No worker acknowledged "${operationId}" within two heartbeats, so the request was withdrawn.`;
  return new CallError("UNAVAILABLE", message, undefined, { retryable: true, mayHaveRun });
}

/** `UNAVAILABLE`: a request that another worker may have started reached a worker that must not run it again. */
export function notMovable(operationId: string): CallError {
  const message = `The worker that accepted "${operationId}" was lost. It may have run, so no other worker runs it again.`;
  return new CallError("UNAVAILABLE", message, undefined, { retryable: true, mayHaveRun: true });
}

/** `EXECUTION_ERROR`: every worker that accepted the request was lost before it replied. */
export function poisonous(operationId: string): CallError {
  const message = `Every worker that accepted "${operationId}" was lost before it replied.`;
  return new CallError("EXECUTION_ERROR", message, { operationId }, { retryable: false, mayHaveRun: true });
}
