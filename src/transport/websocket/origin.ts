/** What of a handshake tells where it comes from. */
export interface Arrival {
  /** The `Host` header. */
  host: string | undefined;
  /** The `Origin` header; only browsers send one. */
  origin: string | undefined;
  /** The address of this machine that was connected to. */
  localAddress: string | undefined;
}

/** Hosts and origins that are welcome beside the obvious ones. */
export interface Welcome {
  /** Host names, as in the `Host` header without its port. */
  allowedHosts?: readonly string[] | undefined;
  /** As browsers send them, such as `https://app.example.com`. */
  allowedOrigins?: readonly string[] | undefined;
}

/**
 * Why a handshake is refused, if it is. A server on loopback is there for this machine only, so a foreign `Host` means
 * that a web page has had its name resolved to us (DNS rebinding). A foreign `Origin` means that some web page opens
 * connections in its visitor's name, which browsers do not prevent for WebSockets.
 */
export function findRefusal({ host, origin, localAddress }: Arrival, welcome: Welcome): string | undefined {
  const hostName = host === undefined ? undefined : parseName(`http://${host}`);
  if (hostName === undefined) return "the Host header is missing or malformed";
  const isKnownHost = welcome.allowedHosts?.includes(hostName) === true;
  if (isLoopback(localAddress) && !isLoopbackName(hostName) && !isKnownHost) return "the Host header is foreign";
  if (origin === undefined || welcome.allowedOrigins?.includes(origin) === true) return undefined;
  const originName = parseName(origin);
  if (originName === undefined) return "the Origin is foreign";
  const isSameOrigin = new URL(origin).host === new URL(`http://${host}`).host;
  const isLocalPage = isLoopbackName(hostName) && isLoopbackName(originName);
  return isSameOrigin || isLocalPage ? undefined : "the Origin is foreign";
}

/** Tells whether an address of a socket is this machine's own. */
export function isLoopback(address: string | undefined): boolean {
  if (address === undefined) return false;
  const plain = address.startsWith("::ffff:") ? address.slice("::ffff:".length) : address;
  return plain === "::1" || plain.startsWith("127.");
}

function isLoopbackName(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost") || name === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(name);
}

function parseName(url: string): string | undefined {
  try {
    const { hostname, protocol, pathname, search, username } = new URL(url);
    const isBare = pathname === "/" && search === "" && username === "";
    return isBare && (protocol === "http:" || protocol === "https:") ? hostname : undefined;
  } catch {
    return undefined;
  }
}
