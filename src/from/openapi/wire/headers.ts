const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// Tab and visible Latin-1 characters, which fetch can send. CR, LF and NUL would allow header injection.
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers of the connection. Not even the operator can set them. */
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

/** Headers of the connection, the credentials or the body. Neither callers nor documents can set them. */
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

/** Whether callers may set a header, with a declared parameter or with `metadata.http.headers`. */
export function isCallerHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return token.test(lower) && !reserved.has(lower) && !lower.startsWith("proxy-") && !lower.startsWith("sec-");
}

/** Whether a string is a valid header name. */
export function isHeaderName(name: string): boolean {
  return token.test(name);
}

/** Whether a string is a valid header value. */
export function isHeaderValue(value: string): boolean {
  return fieldValue.test(value);
}

/** Whether a header value arrives unchanged. Leading and trailing spaces would be removed. */
export function isExactHeaderValue(value: string): boolean {
  return isHeaderValue(value) && !/^[\t ]|[\t ]$/.test(value);
}

/** Whether a header belongs to the connection, so that not even the operator can set it. */
export function isConnectionHeader(name: string): boolean {
  return connection.has(name.toLowerCase());
}
