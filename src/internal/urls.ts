/**
 * Returns whether a host name or address is the local machine: `localhost`, any name below `.localhost` (RFC 6761), `127.0.0.0/8`
 * and `::1`. Accepts the host name of a URL (`[::1]`) and the address of a socket (`::1`, `::ffff:127.0.0.1`).
 */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  if (name === "::1" || name === "localhost" || name.endsWith(".localhost")) return true;
  const match = /^(?:::ffff:)?127\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(name);
  return match?.slice(1).every((part) => Number(part) <= 255) ?? /^::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}$/.test(name);
}

/** Returns whether requests to a URL cannot be read or changed in transit: `https:`, or `http:` to the local machine. */
export function isConfidentialURL({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
}

/** Decodes a part of a URL. Returns `undefined` if it is not valid percent-encoded UTF-8. */
export function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Removes slashes from the end. A pattern such as `/\/+$/` takes quadratic time on a string with many of them inside. */
export function withoutTrailingSlashes(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 0x2f) end--;
  return text.slice(0, end);
}
