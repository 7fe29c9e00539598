import { quote } from "../internal/text.ts";
import { withoutTrailingSlashes } from "../internal/urls.ts";
import { validationError } from "../operation/index.ts";
import type { FetchServer, UpgradeHandler } from "../serve/server.ts";

/** A server and the path at which it is mounted; the path of the root is empty. */
export interface Mount {
  readonly path: string;
  readonly server: Partial<FetchServer> & Partial<UpgradeHandler> & Pick<FetchServer, "isUnauthenticated" | "close">;
}

/** Checks the paths and sorts the mounts so that the longest path is the first. */
export function toMounts(servers: Readonly<Record<string, FetchServer | UpgradeHandler>>): Mount[] {
  const mounts: Mount[] = [];
  for (const [key, server] of Object.entries(servers)) {
    const path = withoutTrailingSlashes(key);
    const problem = findPathProblem(key, path, mounts);
    if (problem !== undefined) throw validationError("servers of listen()", [{ path: `/${key}`, message: problem }]);
    mounts.push({ path, server });
  }
  if (mounts.length === 0) throw validationError("servers of listen()", [{ path: "", message: "must not be empty" }]);
  return mounts.sort((a, b) => b.path.length - a.path.length);
}

function findPathProblem(key: string, path: string, mounts: readonly Mount[]): string | undefined {
  if (!key.startsWith("/") || new URL(`http://localhost${key}`).pathname !== key) {
    return `${quote(key)} must be the path of a URL, such as "/api"`;
  }
  if (["/healthz", "/readyz", "/.well-known"].includes(path)) return `${quote(path)} is reserved`;
  return mounts.some((mount) => mount.path === path) ? `${quote(path)} is used twice` : undefined;
}

/** Finds the server of a path. */
export function findMount(mounts: readonly Mount[], path: string): Mount | undefined {
  return mounts.find((mount) => path.startsWith(mount.path) && (path[mount.path.length] ?? "/") === "/");
}

/** The path of an absolute URL that was normalised before. */
export function findPath(url: string): string {
  const start = url.indexOf("/", "https://".length);
  const end = url.slice(start).search(/[?#]/);
  return end === -1 ? url.slice(start) : url.slice(start, start + end);
}
