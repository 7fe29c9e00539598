import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureProgram } from "../scripts/ensure-program.ts";

/**
 * Fetches the servers before the first test, because a download may take longer than a test has, and provides a folder for
 * bundled programs, which is removed after the last test.
 */
export default async function setup(): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), "operations-test-"));
  process.env["TEST_FOLDER"] = folder;
  await Promise.all([ensureProgram("redis-server"), ensureProgram("nats-server")]);
  return () => rmSync(folder, { recursive: true, force: true });
}
