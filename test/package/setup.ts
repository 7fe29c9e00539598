import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { ensureProgram, type Program } from "../../scripts/ensure-program.ts";
import { root } from "../../scripts/subpaths.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The packed package, a `.tgz` file. */
    tarball: string;
    /** A folder with the package installed and nothing else but its declared dependencies. */
    consumer: string;
    /** The Chromium to run, `null` where none is available. */
    chromium: Program | null;
  }
}

/** Builds and packs the package once for all package tests, and installs it the way a user would get it. */
export default async function setup(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), "operations-package-"));
  execFileSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: "inherit" });
  const packed = execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], {
    cwd: root,
    encoding: "utf8",
  });
  const tarball = join(folder, JSON.parse(packed)[0].filename);
  project.provide("tarball", tarball);
  project.provide("consumer", install(tarball, join(folder, "consumer")));
  project.provide("chromium", (await ensureProgram("chromium")) ?? null);
  return () => rmSync(folder, { recursive: true });
}

/**
 * Unpacks the tarball and links exactly its `dependencies` beside it. Unlike `npm install` that needs no network,
 * and a package that is used without being declared is missing here too.
 */
function install(tarball: string, consumer: string): string {
  const modules = join(consumer, "node_modules");
  const installed = join(modules, "@alkdev/operations");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", tarball, "--strip-components=1", "-C", installed]);
  const { dependencies }: { dependencies: Record<string, string> } = JSON.parse(
    readFileSync(join(installed, "package.json"), "utf8"),
  );
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(resolve(root, "node_modules", name), join(modules, name));
  }
  return consumer;
}
