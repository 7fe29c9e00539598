import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** One thing that a scenario of the conformance suite looked at. */
export interface Check {
  id: string;
  status: string;
}

/** The suite adds this to every scenario, also where the client did nothing that the scenario is about. */
const generalCheck = "wire-schema-valid";

/** Why a scenario did not pass; `undefined` if it did: nothing failed, and something of its own was seen to work. */
export function findProblem(exitCode: number, checks: readonly Check[]): string | undefined {
  const failed = checks.filter(({ status }) => status === "FAILURE");
  if (failed.length > 0) return `failed: ${failed.map(({ id }) => id).join(", ")}`;
  if (exitCode !== 0) return `the suite ended with code ${exitCode}`;
  const succeeded = checks.some(({ id, status }) => status === "SUCCESS" && id !== generalCheck);
  return succeeded ? undefined : "nothing of the scenario was checked";
}

/** What the suite wrote about the scenario that was run with this output folder; nothing where it was skipped. */
export function readChecks(folder: string): Check[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => /checks\.json$/.test(file));
  return files.flatMap((file) => JSON.parse(readFileSync(join(folder, file), "utf8")) as Check[]);
}
