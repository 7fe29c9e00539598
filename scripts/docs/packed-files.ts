import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { root } from "../subpaths.ts";

/**
 * Returns the files that `npm pack` puts into the package, relative to the root. Files that are not built yet are
 * missing.
 */
export async function listPackedFiles(): Promise<string[]> {
  const command = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const { stdout } = await promisify(execFile)("npm", command, { cwd: root, maxBuffer: 16 * 1024 * 1024 });
  const [{ files }]: [{ files: Array<{ path: string }> }] = JSON.parse(stdout);
  return files.map(({ path }) => path);
}
