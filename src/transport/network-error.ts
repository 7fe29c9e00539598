/** The reason why a connection failed or was lost. */
export interface NetworkFailure {
  /** Code of Node or of undici, such as `ECONNREFUSED`. */
  code: string;
  /** `connect` and `tls`: nothing was sent. `lost` and `malformed`, for an unreadable response: it may have arrived. */
  kind: "connect" | "tls" | "lost" | "malformed";
  /** Explanation without a full stop. `undefined` for an unknown code. */
  reason: string | undefined;
}

const beforeSending = new Map([
  ["ECONNREFUSED", "the connection was refused"],
  ["ENOTFOUND", "the host name cannot be resolved"],
  ["EAI_AGAIN", "the host name could not be resolved at the moment"],
  ["EHOSTUNREACH", "the host cannot be reached"],
  ["ENETUNREACH", "the network cannot be reached"],
  ["EADDRNOTAVAIL", "the address is not available"],
  ["UND_ERR_CONNECT_TIMEOUT", "the connection took too long"],
]);

const tls = /^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|EPROTO$)/;

const afterSending = new Map([
  ["ECONNRESET", "the connection was reset"],
  ["EPIPE", "the connection was closed"],
  ["ETIMEDOUT", "the connection timed out"],
  ["UND_ERR_SOCKET", "the connection was closed before the response was complete"],
  ["UND_ERR_HEADERS_TIMEOUT", "no response was received in time"],
  ["UND_ERR_BODY_TIMEOUT", "the response stopped"],
]);

const badCompression = /^(?:Z_|ERR__ERROR_|ERR_BROTLI|ERR_ZSTD)/;

/** Finds the first system error in the causes of an error of `fetch`, also when several addresses were tried. */
export function findNetworkFailure(error: unknown): NetworkFailure | undefined {
  let current = error;
  for (let depth = 0; depth < 5 && typeof current === "object" && current !== null; depth++) {
    const { code, syscall, cause, errors } = current as Record<string, unknown>;
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return classify(code, syscall);
    current = cause ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return undefined;
}

function classify(code: string, syscall: unknown): NetworkFailure {
  // An open connection can also fail because its host cannot be reached any more.
  const isOpen = syscall === "read" || syscall === "write";
  const neverSent = beforeSending.get(code) ?? (syscall === "connect" ? "the connection failed" : undefined);
  if (isOpen && neverSent !== undefined) return { code, kind: "lost", reason: neverSent };
  if (neverSent !== undefined) return { code, kind: "connect", reason: neverSent };
  if (tls.test(code)) return { code, kind: "tls", reason: "a secure connection could not be established" };
  if (badCompression.test(code)) return { code, kind: "malformed", reason: "cannot be decompressed" };
  if (code === "UND_ERR_HEADERS_OVERFLOW") return { code, kind: "malformed", reason: "has headers that are too large" };
  return { code, kind: "lost", reason: afterSending.get(code) };
}
