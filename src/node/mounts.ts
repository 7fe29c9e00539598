import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { logger, warnVisibly } from "../internal/log.ts";
import { quote } from "../internal/text.ts";
import { withoutTrailingSlashes } from "../internal/urls.ts";
import { validationError } from "../operation/inside.ts";
import type { FetchServer } from "../serve/server.ts";
import { refuseUpgrade, type UpgradeHandler } from "../serve/upgrade.ts";
import { type IncomingInfo, toProblem } from "./request-listener.ts";

const log = logger("node");

/** A server and the path at which it is mounted; the path of the root is empty. */
export interface Mount {
  readonly path: string;
  readonly server: Partial<FetchServer & UpgradeHandler> & Pick<FetchServer, "isUnauthenticated" | "close">;
}

/** Checks the paths and sorts the mounts so that the longest path is the first. */
export function toMounts(servers: Readonly<Record<string, FetchServer | UpgradeHandler>>): Mount[] {
  const mounts: Mount[] = [];
  for (const [key, server] of Object.entries(servers ?? {})) {
    const path = withoutTrailingSlashes(key);
    if (!key.startsWith("/") || new URL(`http://localhost${key}`).pathname !== key) {
      throw invalidServers(`/${key}`, `${quote(key)} must be the path of a URL, such as "/api"`);
    }
    if (
      typeof (server as Mount["server"])?.fetch !== "function" &&
      typeof (server as Mount["server"])?.upgrade !== "function"
    ) {
      throw invalidServers("", `the value of ${quote(key)} must be a server, such as the result of serveHTTP()`);
    }
    if (mounts.some((mount) => mount.path === path)) throw invalidServers(`/${key}`, `${quote(path)} is used twice`);
    mounts.push({ path, server });
  }
  if (mounts.length === 0) throw invalidServers("", "at least one is required");
  return mounts.sort((a, b) => b.path.length - a.path.length);
}

function invalidServers(path: string, message: string): Error {
  return validationError("servers of listen()", [{ path, message }]);
}

/** The paths of the health checks. No server receives requests to them. */
export const healthPaths = { alive: "/healthz", ready: "/readyz" } as const;

/** Finds the server of a path, among those that handle requests or those that handle upgrades. */
function findMount(mounts: readonly Mount[], path: string, method: "fetch" | "upgrade"): Mount | undefined {
  return mounts.find(
    ({ path: base, server }) => server[method] && path.startsWith(base) && (path[base.length] ?? "/") === "/",
  );
}

/** Warns about routes that requests never reach, because the listener or another server handles their paths. */
export function warnAboutHidden(mounts: readonly Mount[]): void {
  for (const mount of [...mounts].reverse()) {
    for (const route of mount.server.paths?.() ?? []) {
      const path = mount.path + route;
      const other = findMount(mounts, path, "fetch")!;
      const isHealthCheck = path === healthPaths.alive || path === healthPaths.ready;
      if (!isHealthCheck && other === mount) continue;
      const reason = isHealthCheck
        ? "it is a health check of listen()"
        : `another server is mounted at ${quote(other.path)}`;
      const message = "Requests do not reach the route {path}, because {reason}. Choose another route.";
      warnVisibly(log, [{ message, properties: { path: quote(path), reason } }]);
    }
  }
}

/** The path of an absolute URL that was normalised before. */
export function findPath(url: string): string {
  const start = url.indexOf("/", "https://".length);
  const end = url.slice(start).search(/[?#]/);
  return end === -1 ? url.slice(start) : url.slice(start, start + end);
}

/** Lets the server of a path handle a request. */
export function fetchMounted(mounts: readonly Mount[], path: string, info: IncomingInfo): Response | Promise<Response> {
  const mount = findMount(mounts, path, "fetch");
  if (mount?.server.fetch === undefined) return toProblem(404, "No HTTP server is mounted at this path.");
  return mount.server.fetch(info.request, info.mountAt(mount.path));
}

/** Lets the server of a path handle an upgrade. Rejects if it fails. */
export async function upgradeMounted(
  mounts: readonly Mount[],
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  allowPublic: boolean,
): Promise<void> {
  const mount = findMount(mounts, findPath(`http://localhost${request.url}`), "upgrade");
  if (mount?.server.upgrade === undefined) return refuseUpgrade(socket, 404, "No such path.");
  const { remoteAddress } = request.socket;
  await mount.server.upgrade(request, socket, head, { basePath: mount.path || undefined, remoteAddress, allowPublic });
}

/** Lets every server handle a request to `/.well-known/`, at the root of the listener, before the server of its path. */
export async function fetchWellKnown(mounts: readonly Mount[], path: string, info: IncomingInfo): Promise<Response> {
  for (const mount of mounts) {
    const response = await mount.server.wellKnown?.(info.request, info.mountAt(mount.path));
    if (response !== undefined) return response;
  }
  return fetchMounted(mounts, path, info);
}
