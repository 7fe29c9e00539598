import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { ensureProgram, type Program } from "../../scripts/ensure-program.ts";
import { root } from "../../scripts/subpaths.ts";
import { install } from "./install.ts";

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
