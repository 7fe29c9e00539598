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
