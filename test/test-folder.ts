import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Provides a folder for bundled programs, which is removed after the last test. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "operations-test-"));
  process.env["TEST_FOLDER"] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
