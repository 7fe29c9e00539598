/**
 * Turns a path into a `file:` URL without needing Node: absolute or relative to `cwd`, POSIX or Windows. Characters
 * that mean something in a URL, such as `#`, `?` and `%`, are part of the name.
 */
export function toFileURL(path: string, cwd: string): URL {
  const windows = isWindowsPath(path) || isWindowsPath(cwd);
  const absolute = isAbsolute(path, windows) ? path : `${cwd}/${path}`;
  const slashed = windows ? absolute.replaceAll("\\", "/") : absolute;
  // The URL parser resolves `.` and `..`; a UNC path brings its server along as the host.
  return new URL(
    `file:${slashed.startsWith("//") ? "" : slashed.startsWith("/") ? "//" : "///"}${encodePath(slashed)}`,
  );
}

function isWindowsPath(path: string): boolean {
  return /^(?:[A-Za-z]:[\\/]|\\\\)/.test(path);
}

function isAbsolute(path: string, windows: boolean): boolean {
  return path.startsWith("/") || (windows && isWindowsPath(path));
}

function encodePath(path: string): string {
  return path
    .split("/")
    .map((segment, index) => (index === 0 && /^[A-Za-z]:$/.test(segment) ? segment : encodeURIComponent(segment)))
    .join("/");
}

/**
 * Whether a host name or address is this machine's own: `localhost`, any name below `.localhost` (RFC 6761), `127.0.0.0/8`
 * and `::1`. Takes the host name of a URL (`[::1]`) as well as the address of a socket (`::1`, `::ffff:127.0.0.1`).
 */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  if (name === "::1" || name === "localhost" || name.endsWith(".localhost")) return true;
  const match = /^(?:::ffff:)?127\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(name);
  return match?.slice(1).every((part) => Number(part) <= 255) ?? /^::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}$/.test(name);
}

/** Whether what is sent there cannot be read or changed on its way: `https:`, or `http:` to this machine. */
export function isConfidentialURL({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
}

/** Removes slashes from the end. A pattern such as `/\/+$/` takes quadratic time on a string with many of them inside. */
export function withoutTrailingSlashes(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 0x2f) end--;
  return text.slice(0, end);
}
