/** Fetches the programs that tests, benches and examples start, and prints their paths. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { fetchPackages } from "./fetch-packages.ts";

/** The programs, named as they are on a command line. */
export const programNames = ["redis-server", "nats-server", "chromium", "zsh", "fish"] as const;
export type ProgramName = (typeof programNames)[number];

/** A program that can be started. */
export interface Program {
  path: string;
  /** Its environment. For a program in the cache, it contains the folders of its libraries. */
  env: NodeJS.ProcessEnv;
}

/** Folders that are searched for programs. */
export interface ProgramPlaces {
  /** Folders of installed programs. */
  system: readonly string[];
  /** The folder that contains one unpacked package per program. */
  cache: string;
}

/**
 * Debian packages, and where the executable is in them: `redis-server` is a link to a file of `redis-tools`, and
 * `/usr/bin/chromium` is a script with absolute paths.
 */
const sources: Record<ProgramName, { packages: string[]; executable: string }> = {
  "redis-server": { packages: ["redis-server", "redis-tools"], executable: "usr/bin/redis-server" },
  "nats-server": { packages: ["nats-server"], executable: "usr/sbin/nats-server" },
  chromium: { packages: ["chromium"], executable: "usr/lib/chromium/chromium" },
  zsh: { packages: ["zsh", "zsh-common"], executable: "bin/zsh" }, // Later releases have it in usr/bin.
  fish: { packages: ["fish", "fish-common"], executable: "usr/bin/fish" },
};

/** The places on this machine. The cache is shared by all clones, because Chromium and its libraries take 700 MB. */
export const defaultPlaces: ProgramPlaces = {
  system: ["/usr/bin", "/usr/sbin", "/usr/local/bin", ...(process.env["PATH"] ?? "").split(delimiter)],
  cache: join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "alkdev-operations", systemName()),
};

/**
 * Finds a program, and fetches its Debian package into the cache if it is missing. Nothing is installed. If the package
 * cannot be fetched, prints the reason and returns `undefined`; under `CI`, throws instead.
 */
export async function ensureProgram(name: ProgramName, places = defaultPlaces): Promise<Program | undefined> {
  const found = findProgram(name, places);
  if (found !== undefined) return found;
  const folder = join(places.cache, name);
  try {
    if (!existsSync("/usr/bin/apt-get")) throw new Error("this is not a Debian system.");
    await fetchPackages({ packages: sources[name].packages, folder, probe: (root) => unpackedProgram(name, root) });
    return unpackedProgram(name, folder);
  } catch (error) {
    const message = `${name} is missing and could not be fetched: ${(error as Error).message}`;
    if (process.env["CI"]) throw new Error(message, { cause: error });
    console.log(
      `${message}\nTests and examples that need it are skipped. Install it, for example with: apt-get install ${name}`,
    );
    return undefined;
  }
}

/** Finds a program that is installed or was fetched before. */
export function findProgram(name: ProgramName, { system, cache }: ProgramPlaces): Program | undefined {
  const installed = system.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (installed !== undefined) return { path: installed, env: { ...process.env } };
  const folder = join(cache, name);
  return existsSync(folder) ? unpackedProgram(name, folder) : undefined;
}

/** A program whose package and missing dependencies were unpacked below `root`. */
function unpackedProgram(name: ProgramName, root: string): Program {
  const { executable } = sources[name];
  const places = [executable, join("usr", executable)].map((place) => join(root, place));
  const path = places.find((place) => existsSync(place)) ?? places[0]!;
  const libraries = [...libraryFolders(join(root, "lib")), ...libraryFolders(join(root, "usr/lib"))];
  const inherited = process.env["LD_LIBRARY_PATH"];
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    LD_LIBRARY_PATH: [...libraries, ...(inherited ? [inherited] : [])].join(delimiter),
  };
  const fonts = join(root, "etc/fonts/fonts.conf");
  if (existsSync(fonts)) Object.assign(env, { FONTCONFIG_FILE: fonts, XDG_DATA_HOME: join(root, "usr/share") });
  return { path, env };
}

/** The folders below `folder` that directly contain shared libraries. */
function libraryFolders(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  const inner = entries
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => libraryFolders(join(folder, name)));
  return entries.some(({ name }) => /^lib.*\.so/.test(name)) ? [folder, ...inner] : inner;
}

/** Unpacked programs fit one release of one system, such as `debian-12-x64`. */
function systemName(): string {
  const release = existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "";
  const field = (key: string) => new RegExp(`^${key}="?([^"\\n]*)"?$`, "m").exec(release)?.[1] ?? "unknown";
  return `${field("ID")}-${field("VERSION_ID")}-${process.arch}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const programs = await Promise.all(programNames.map((name) => ensureProgram(name)));
  for (const [index, name] of programNames.entries()) console.log(`${name}: ${programs[index]?.path ?? "missing"}`);
}
