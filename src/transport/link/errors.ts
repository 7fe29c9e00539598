import { truncate } from "../../internal/text.ts";
import { CallError } from "../../operation/index.ts";

/** What calls fail with when the link that carries them is gone. */
export function linkLost(transport: string, cause: Error | undefined, mayHaveRun: boolean): CallError {
  const why = cause === undefined ? "it was closed" : truncate(cause.message, 400).replace(/\.$/, "");
  const message = `The link of the ${transport} transport is gone: ${why}.`;
  return new CallError("UNAVAILABLE", message, undefined, { retryable: true, mayHaveRun, cause });
}
