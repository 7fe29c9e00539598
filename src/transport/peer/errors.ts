import { truncate } from "../../internal/text.ts";
import { CallError } from "../../operation/index.ts";

/** `UNAVAILABLE`: the connection that carries a call is lost. */
export function linkLost(transport: string, cause: Error | undefined, mayHaveRun: boolean): CallError {
  const reason = cause === undefined ? "it was closed" : truncate(cause.message, 400).replace(/\.$/, "");
  const message = `The connection of the ${transport} transport is lost: ${reason}.`;
  return new CallError("UNAVAILABLE", message, undefined, { retryable: true, mayHaveRun, cause });
}
