import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { root } from "../../scripts/subpaths.ts";

/**
 * Unpacks the tarball and links exactly its `dependencies` beside it. Unlike `npm install` that needs no network,
 * and a package that is used without being declared is missing here too.
 */
export function install(tarball: string, folder: string): string {
  const installed = join(folder, "node_modules/@alkdev/operations");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", tarball, "--strip-components=1", "-C", installed]);
  linkPackages(folder, Object.keys(readManifest(installed).dependencies ?? {}));
  return folder;
}

/** Links packages of ours into a folder, as if a user had installed them there. */
export function linkPackages(folder: string, names: Iterable<string>): void {
  for (const name of names) {
    const link = join(folder, "node_modules", name);
    if (existsSync(link)) continue;
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(resolve(root, "node_modules", name), link);
  }
}

/** Links the optional peers of the package, and the types that those who use them have. */
export function linkPeers(folder: string): void {
  linkPackages(folder, [...Object.keys(readManifest(root).peerDependencies ?? {}), "@types/node", "@types/ws"]);
}

function readManifest(folder: string): Partial<Record<"dependencies" | "peerDependencies", Record<string, string>>> {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}
