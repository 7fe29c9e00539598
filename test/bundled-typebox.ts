import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { rolldown } from "rolldown";
import { root } from "../scripts/subpaths.ts";

/** The sub-paths of typebox that our sources and tests import. */
const subpaths = ["typebox", "typebox/compile", "typebox/schema", "typebox/system", "typebox/value"];

/**
 * Bundles typebox into a few files and returns an alias for each of its sub-paths. Typebox consists of 700 modules, and every
 * test file is a process that loads them: 0.4 s of CPU time each, and 0.05 s from the bundle.
 */
export async function bundleTypebox(): Promise<Array<{ find: RegExp; replacement: string }>> {
  const { version } = JSON.parse(readFileSync(join(root, "node_modules/typebox/package.json"), "utf8"));
  // In `node_modules`, because Vitest lets Node load what is there.
  const folder = join(root, "node_modules/.cache", `alkdev-operations-typebox-${version}`);
  if (!existsSync(folder)) await writeBundle(folder);
  return subpaths.map((subpath) => ({
    find: new RegExp(`^${subpath}$`),
    replacement: join(folder, `${subpath}.mjs`).replaceAll("\\", "/"),
  }));
}

/** Another process may write the same folder at the same time: the first to finish wins. */
async function writeBundle(folder: string): Promise<void> {
  mkdirSync(dirname(folder), { recursive: true });
  const written = mkdtempSync(`${folder}-`);
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(subpaths.map((subpath) => [subpath, subpath])),
  });
  await bundle.write({ dir: written, entryFileNames: "[name].mjs", chunkFileNames: "[name]-[hash].mjs" });
  await bundle.close();
  try {
    renameSync(written, folder);
  } catch (error) {
    rmSync(written, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
}
