import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { root } from "../../scripts/subpaths.ts";

const execute = promisify(execFile);

/**
 * Installs a package, `name@version`, and further ones that it needs, into a folder below `.cache`, unless they are already
 * installed, and returns the folder. Install scripts do not run.
 */
export async function installPackage(folder: string, ...specifiers: readonly string[]): Promise<string> {
  const home = join(root, ".cache", folder);
  const manifest = join(home, "package.json");
  const specifier = specifiers.join(" ");
  if (readInstalled(manifest) !== specifier) {
    mkdirSync(home, { recursive: true });
    writeFileSync(manifest, JSON.stringify({ private: true }));
    // Some packages declare a later version of Node, but run with this one.
    const flags = ["--engine-strict=false", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    await execute("npm", ["install", ...flags, ...specifiers], { cwd: home, timeout: 300_000 });
    const written = JSON.parse(readFileSync(manifest, "utf8")) as object;
    writeFileSync(manifest, JSON.stringify({ ...written, installed: specifier }, undefined, 2));
  }
  return home;
}

/** Returns the path of a program of an installed package. */
export function binOf(home: string, bin: string): string {
  return join(home, "node_modules", ".bin", bin);
}

function readInstalled(manifest: string): string | undefined {
  if (!existsSync(manifest)) return undefined;
  return (JSON.parse(readFileSync(manifest, "utf8")) as { installed?: string }).installed;
}
