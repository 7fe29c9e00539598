import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { quote } from "../internal/text.ts";
import { withoutTrailingSlashes } from "../internal/urls.ts";
import { validationError } from "../operation/inside.ts";
import { replyProblem } from "../serve/exchange.ts";
import type { FetchServer, RegistryServer } from "../serve/server.ts";
import { refuseUpgrade, type UpgradeHandler } from "../serve/upgrade.ts";
import { handleRequestOf, type NodeExchange } from "./node-exchange.ts";

/** A server and the path at which it is mounted; the path of the root is empty. */
export interface Mount {
  readonly path: string;
  /** The path with a slash at its end, with which paths below it begin. */
  readonly prefix: string;
  readonly server: Partial<FetchServer & UpgradeHandler> & RegistryServer;
}

/** Checks the paths and sorts the mounts so that the longest path is the first. */
export function toMounts(servers: Readonly<Record<string, FetchServer | UpgradeHandler>>): Mount[] {
  const mounts: Mount[] = [];
  for (const [key, server] of Object.entries(servers ?? {})) {
    const path = withoutTrailingSlashes(key);
    const { fetch, upgrade } = (server ?? {}) as Mount["server"];
    if (!key.startsWith("/") || new URL(`http://localhost${key}`).pathname !== key) {
      throw invalidServers(`/${key}`, `${quote(key)} must be the path of a URL, such as "/api"`);
    }
    if (typeof fetch !== "function" && typeof upgrade !== "function") {
      throw invalidServers("", `the value of ${quote(key)} must be a server, such as the result of serveHTTP()`);
    }
    if (mounts.some((mount) => mount.path === path)) throw invalidServers(`/${key}`, `${quote(path)} is used twice`);
    mounts.push({ path, prefix: `${path}/`, server });
  }
  if (mounts.length === 0) throw invalidServers("", "at least one is required");
  return mounts.sort((a, b) => b.path.length - a.path.length);
}

function invalidServers(path: string, message: string): Error {
  return validationError("servers of listen()", [{ path, message }]);
}

/** Lets the server of a path handle an exchange. */
export function handleMounted(mounts: readonly Mount[], exchange: NodeExchange): void | Promise<void> {
  const path = `${exchange.path}/`;
  const mount = mounts.find(({ prefix, server }) => server.fetch !== undefined && path.startsWith(prefix));
  if (mount === undefined) return replyProblem(exchange, 404, "No HTTP server is mounted at this path.");
  exchange.basePath = mount.path || undefined;
  const server = mount.server as FetchServer;
  return server.handle === undefined ? handleRequestOf(server, exchange) : server.handle(exchange);
}

/** Lets every server handle a request to `/.well-known/`, at the root of the listener, before the server of its path. */
export async function handleWellKnown(mounts: readonly Mount[], exchange: NodeExchange): Promise<void> {
  const { remoteAddress, allowPublic } = exchange;
  for (const { path, server } of mounts) {
    if (server.wellKnown === undefined) continue;
    const info = { basePath: path || undefined, remoteAddress, allowPublic };
    const response = await server.wellKnown(exchange.toRequest(), info);
    if (response !== undefined) return exchange.send(response);
  }
  return handleMounted(mounts, exchange);
}

/** Lets the server of a path handle a handshake. Rejects if it fails. */
export async function upgradeMounted(
  mounts: readonly Mount[],
  path: string,
  [request, socket, head]: [IncomingMessage, Duplex, Buffer],
  allowPublic: boolean,
): Promise<void> {
  const mount = mounts.find(({ prefix, server }) => server.upgrade !== undefined && `${path}/`.startsWith(prefix));
  if (mount?.server.upgrade === undefined) return refuseUpgrade(socket, 404, "No such path.");
  const { remoteAddress } = request.socket;
  await mount.server.upgrade(request, socket, head, { basePath: mount.path || undefined, remoteAddress, allowPublic });
}
