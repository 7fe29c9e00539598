import { toReason } from "../../internal/text.ts";
import { CallError } from "../../operation/index.ts";

/** Tells whether the server wants other credentials, or does not let this user do what it wants. */
export function isDenial(error: unknown): boolean {
  return /^(WRONGPASS|NOAUTH|NOPERM|ERR AUTH|ERR invalid password)\b/.test((error as Error).message);
}

/** `UPSTREAM_DENIED`, if that is why a command failed. */
export function denialOf(error: unknown): CallError | undefined {
  if (!isDenial(error)) return undefined;
  const message = `The Redis server refused: ${toReason(error)}.`;
  return new CallError("UPSTREAM_DENIED", message, undefined, { cause: error, retryable: false, mayHaveRun: false });
}

/** Why a request was not sent, or nobody knows whether it was: `UPSTREAM_DENIED` or `UNAVAILABLE`. */
export function commandFailed(error: Error): CallError {
  const denial = denialOf(error);
  if (denial !== undefined) return denial;
  const message = `The Redis server did not take the request: ${toReason(error)}.`;
  const options = { cause: error, retryable: true, mayHaveRun: !isRefusal(error) };
  return new CallError("UNAVAILABLE", message, undefined, options);
}

/** Tells whether a command surely had no effect: the server refused it, or it never left. */
function isRefusal(error: Error): boolean {
  const name = error.constructor.name;
  return (
    name === "ClientOfflineError" || name === "ClientClosedError" || name === "SimpleError" || name === "BlobError"
  );
}
