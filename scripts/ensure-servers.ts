import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./subpaths.ts";

/** The servers that tests, benches and examples meet. */
export type ServerName = "redis-server" | "nats-server";

/** A server that can be started. */
export interface ServerProgram {
  path: string;
  /** What it needs in its environment: where its libraries are, when it was unpacked beside the system. */
  env: NodeJS.ProcessEnv;
}

const packages: Record<ServerName, string[]> = {
  "redis-server": ["redis-server", "redis-tools", "libjemalloc2", "liblzf1"],
  "nats-server": ["nats-server"],
};
const systemFolders = ["/usr/bin", "/usr/sbin", "/usr/local/bin", ...(process.env["PATH"] ?? "").split(delimiter)];
const cache = resolve(root, ".cache/servers");
const quiet = {
  stdio: ["ignore", "ignore", "pipe"] as ["ignore", "ignore", "pipe"],
  env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  timeout: 240_000,
};

/**
 * Finds a server and fetches its Debian package when it is missing: with root installed, without root unpacked into
 * `.cache`. Gives `undefined` after a printed reason where that is impossible; under `CI` it throws instead.
 */
export function ensureServer(name: ServerName): ServerProgram | undefined {
  const found = findServer(name);
  if (found !== undefined) return found;
  const obstacle = existsSync("/usr/bin/apt-get") ? fetchServer(name) : "this is not a Debian system";
  const fetched = findServer(name);
  if (fetched !== undefined) return fetched;
  const message = `This needs ${name} and ${obstacle ?? "the package did not bring it"}. Install it with: apt-get install ${name}`;
  if (process.env["CI"]) throw new Error(message);
  console.log(`${message} (skipped)`);
  return undefined;
}

function findServer(name: ServerName): ServerProgram | undefined {
  const installed = systemFolders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (installed !== undefined) return { path: installed, env: process.env };
  const unpacked = ["usr/bin", "usr/sbin"].map((folder) => join(cache, folder, name)).find((path) => existsSync(path));
  if (unpacked === undefined) return undefined;
  return { path: unpacked, env: { ...process.env, LD_LIBRARY_PATH: libraryFolders().join(delimiter) } };
}

/** `usr/lib` and the folder of the machine's architecture in it. */
function libraryFolders(): string[] {
  const libraries = join(cache, "usr/lib");
  if (!existsSync(libraries)) return [];
  const inner = readdirSync(libraries, { withFileTypes: true }).filter((item) => item.isDirectory());
  return [libraries, ...inner.map((item) => join(libraries, item.name))];
}

function fetchServer(name: ServerName): string | undefined {
  console.log(`Fetching the Debian package ${name} …`);
  try {
    if (process.getuid?.() === 0) installPackage(name);
    else unpackPackages(packages[name]);
    return undefined;
  } catch (error) {
    return `fetching it failed: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function installPackage(name: ServerName): void {
  execFileSync("apt-get", ["update", "-qq"], quiet);
  execFileSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", name], quiet);
}

function unpackPackages(names: string[]): void {
  mkdirSync(cache, { recursive: true });
  execFileSync("apt-get", ["download", "-qq", ...names], { ...quiet, cwd: cache });
  for (const file of readdirSync(cache).filter((file) => file.endsWith(".deb"))) {
    execFileSync("dpkg", ["-x", file, "."], { ...quiet, cwd: cache });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  for (const name of Object.keys(packages) as ServerName[]) console.log(ensureServer(name)?.path ?? `no ${name}`);
}
