const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// Tab and visible characters of Latin-1: all that fetch can send. CR, LF and NUL would start a header of the caller's own.
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Names that belong to the connection. Not even the operator sets them. */
const connectionHeaders = [
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
const connection = new Set(connectionHeaders);

/** Names that belong to the connection, the credential or the body. No caller and no document sets them. */
const reserved = new Set([
  ...connectionHeaders,
  "accept-charset",
  "accept-encoding",
  "access-control-request-headers",
  "access-control-request-method",
  "authorization",
  "content-encoding",
  "content-type",
  "cookie",
  "cookie2",
  "origin",
  "referer",
  "set-cookie",
  "via",
]);

/** Whether callers may set a header: by a declared parameter or by `metadata.http.headers`. */
export function isCallerHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return token.test(lower) && !reserved.has(lower) && !lower.startsWith("proxy-") && !lower.startsWith("sec-");
}

/** Whether a string is a header name. */
export function isHeaderName(name: string): boolean {
  return token.test(name);
}

/** Whether a string is a valid header value. */
export function isHeaderValue(value: string): boolean {
  return fieldValue.test(value);
}

/** Whether a header value arrives unchanged: blanks at its ends are lost. */
export function isExactHeaderValue(value: string): boolean {
  return isHeaderValue(value) && !/^[\t ]|[\t ]$/.test(value);
}

/** Whether a header belongs to the connection, so that not even the operator sets it. */
export function isConnectionHeader(name: string): boolean {
  return connection.has(name.toLowerCase());
}
