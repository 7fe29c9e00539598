import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Builds `dist` if a source is newer, so that benches measure the built package. */
export function buildWhenStale(): void {
  const built = statSync(join(root, "dist/index.js"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (newestSource() < built) return;
  console.log("building dist …");
  const { status } = spawnSync(join(root, "node_modules/.bin/tsx"), ["scripts/build.ts"], {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (status !== 0) console.log("The build reported errors. Measuring its output anyway.");
}

function newestSource(): number {
  const files = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true });
  const sources = files.filter((file) => file.isFile() && !/\.test(-d)?\.ts$/.test(file.name));
  return Math.max(...sources.map((file) => statSync(join(file.parentPath, file.name)).mtimeMs));
}
