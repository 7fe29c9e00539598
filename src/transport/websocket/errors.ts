import { toReason } from "../../internal/text.ts";
import { CallError } from "../../operation/index.ts";

const adviceFor = {
  401: "Give it a `token` that it knows.",
  403: "See its `allowedHosts` and `allowedOrigins`.",
} as const;

/**
 * Why a connection was not made. `status` is that of an HTTP answer that is no upgrade, where the runtime tells: with it
 * `UPSTREAM_DENIED` or `UNAVAILABLE`, without it `UNAVAILABLE`.
 */
export function notOpened(url: string, status: number | undefined, cause: unknown): CallError {
  const server = nameOf(url);
  if (status === 401 || status === 403) {
    const message = `The ${server} refused the connection: HTTP ${status}. ${adviceFor[status]}`;
    return new CallError("UPSTREAM_DENIED", message, { status }, { mayHaveRun: false });
  }
  if (status !== undefined) {
    const message = `The ${server} opened no WebSocket but answered HTTP ${status}. Is the path right?`;
    return new CallError("UNAVAILABLE", message, { status }, { retryable: status >= 500, mayHaveRun: false });
  }
  const reason = cause === undefined || cause === null ? "" : `: ${toReason(cause)}`; // browsers give none
  const message = `Cannot connect to the ${server}${reason}. Is it running, and is the address right?`;
  return new CallError("UNAVAILABLE", message, undefined, { cause, retryable: true, mayHaveRun: false });
}

/** `UNAVAILABLE`: a connection was made and ended before the server had said what every server of ours says first. */
export function notIntroduced(url: string, cause: Error): CallError {
  const message = `The ${nameOf(url)} did not begin to talk: ${toReason(cause)}. Does it serve operations at this path?`;
  return new CallError("UNAVAILABLE", message, undefined, { cause, retryable: true, mayHaveRun: false });
}

/** The rest of a URL may hold secrets. */
function nameOf(url: string): string {
  return `WebSocket server ${new URL(url).origin}`;
}
