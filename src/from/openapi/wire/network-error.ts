import type { CallError } from "../../../operation/index.ts";
import { badResponse, unavailable } from "../errors.ts";

const beforeSending = new Map([
  ["ECONNREFUSED", "the connection was refused"],
  ["ENOTFOUND", "the host name is not known"],
  ["EAI_AGAIN", "the host name could not be looked up"],
  ["EHOSTUNREACH", "the host cannot be reached"],
  ["ENETUNREACH", "the network cannot be reached"],
  ["EADDRNOTAVAIL", "the address is not available"],
  ["UND_ERR_CONNECT_TIMEOUT", "the connection took too long"],
]);

const tls = /^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|EPROTO$)/;

const afterSending = new Map([
  ["ECONNRESET", "the connection was reset"],
  ["EPIPE", "the connection was closed"],
  ["ETIMEDOUT", "the connection went silent"],
  ["UND_ERR_SOCKET", "the connection was closed before the response was complete"],
  ["UND_ERR_HEADERS_TIMEOUT", "no response was received in time"],
  ["UND_ERR_BODY_TIMEOUT", "the response stopped"],
]);

const badCompression = /^(?:Z_|ERR__ERROR_|ERR_BROTLI|ERR_ZSTD)/;

/** Ports that `fetch` refuses before it connects (Fetch Standard, "bad port"). */
const blockedPorts: ReadonlySet<string> = new Set(
  (
    "0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 " +
    "137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 " +
    "1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080"
  ).split(" "),
);

interface SystemError {
  code: string;
  syscall?: string;
}

/**
 * Translates a failure of `fetch`. Its own message is never passed on: it can quote header values and URLs. `mayHaveRun` is false only
 * when the connection was never made.
 */
export function fromNetworkError(operationId: string, error: unknown, url?: string): CallError {
  const system = systemErrorOf(error);
  const port = url === undefined ? "" : new URL(url).port;
  if (system === undefined && blockedPorts.has(port)) {
    return unavailable(operationId, `fetch makes no connection to port ${port}`, { mayHaveRun: false });
  }
  if (system === undefined) return unavailable(operationId, "the request failed", { retryable: true });
  const { code } = system;
  const neverSent = beforeSending.get(code) ?? (system.syscall === "connect" ? "the connection failed" : undefined);
  if (neverSent !== undefined) {
    return unavailable(operationId, `${neverSent} (${code})`, { retryable: true, mayHaveRun: false });
  }
  if (tls.test(code)) {
    return unavailable(operationId, `no secure connection could be made (${code})`, { mayHaveRun: false });
  }
  if (badCompression.test(code)) return badResponse(operationId, "the response cannot be decompressed");
  if (code === "UND_ERR_HEADERS_OVERFLOW") return badResponse(operationId, "the headers of the response are too large");
  const reason = afterSending.get(code) ?? "the request failed";
  return unavailable(operationId, `${reason} (${code})`, { retryable: true });
}

/** The first system error in the chain of causes, also when several addresses were tried. */
function systemErrorOf(error: unknown): SystemError | undefined {
  let current = error;
  for (let depth = 0; depth < 5 && typeof current === "object" && current !== null; depth++) {
    const { code, syscall } = current as Partial<SystemError>;
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return { code, ...(syscall && { syscall }) };
    const { cause, errors } = current as { cause?: unknown; errors?: unknown[] };
    current = cause ?? errors?.[0];
  }
  return undefined;
}
