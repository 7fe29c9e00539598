/**
 * Converts a path to a `file:` URL without Node: absolute or relative to `cwd`, POSIX or Windows. Characters with a meaning
 * in URLs, such as `#`, `?` and `%`, are part of the name.
 */
export function toFileURL(path: string, cwd: string): URL {
  const windows = isWindowsPath(path) || isWindowsPath(cwd);
  const absolute = isAbsolute(path, windows) ? path : `${cwd}/${path}`;
  const slashed = windows ? absolute.replaceAll("\\", "/") : absolute;
  // The URL parser resolves `.` and `..`, and the server of a UNC path becomes the host.
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
