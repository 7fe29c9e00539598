import type { CallError } from "../../../operation/index.ts";
import { findNetworkFailure } from "../../../transport/network-error.ts";
import { badResponse, unavailable } from "../errors.ts";

/** Ports that `fetch` refuses before it connects (Fetch Standard, "bad port"). */
const blockedPorts: ReadonlySet<string> = new Set(
  (
    "0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 " +
    "137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 " +
    "1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080"
  ).split(" "),
);

/**
 * Converts a failure of `fetch`. Its message is never passed on, because it may contain header values and URLs.
 * `mayHaveRun` is false only if the connection was never made.
 */
export function fromNetworkError(operationId: string, error: unknown, url?: string): CallError {
  const failure = findNetworkFailure(error);
  const port = url === undefined ? "" : new URL(url).port;
  if (failure === undefined && blockedPorts.has(port)) {
    return unavailable(operationId, `fetch blocks connections to port ${port}`, { mayHaveRun: false });
  }
  if (failure === undefined) return unavailable(operationId, undefined, { retryable: true });
  const { code, kind, reason } = failure;
  if (kind === "malformed") return badResponse(operationId, reason ?? code);
  // A certificate that was rejected once will be rejected again.
  const options = { ...(kind !== "tls" && { retryable: true }), ...(kind !== "lost" && { mayHaveRun: false }) };
  return unavailable(operationId, reason === undefined ? code : `${reason} (${code})`, options);
}
