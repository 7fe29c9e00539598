import { truncate } from "../../internal/text.ts";
import { CallError, unavailable } from "../../operation/inside.ts";

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

/** `UNAVAILABLE`: the worker that had accepted a call is gone. */
export function workerGone(operationId: string, mayHaveRun = true): CallError {
  const message = `The worker that accepted "${operationId}" was lost before it replied.`;
  return new CallError("UNAVAILABLE", message, undefined, { retryable: true, mayHaveRun });
}
