import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** One check of a scenario of the conformance suite. */
export interface Check {
  id: string;
  status: string;
}

/** The suite adds this check to every scenario, even if the client did not perform the scenario. */
const generalCheck = "wire-schema-valid";

/**
 * Returns why a scenario did not pass, or `undefined` if no check failed and at least one check of its own succeeded.
 */
export function findProblem(exitCode: number, checks: readonly Check[]): string | undefined {
  const failed = checks.filter(({ status }) => status === "FAILURE");
  if (failed.length > 0) return `failed: ${failed.map(({ id }) => id).join(", ")}`;
  if (exitCode !== 0) return `the suite ended with code ${exitCode}`;
  const succeeded = checks.some(({ id, status }) => status === "SUCCESS" && id !== generalCheck);
  return succeeded ? undefined : "no check of the scenario was run";
}

/** Reads the checks that the suite wrote to an output folder. Returns an empty array if the scenario was skipped. */
export function readChecks(folder: string): Check[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => /checks\.json$/.test(file));
  return files.flatMap((file) => JSON.parse(readFileSync(join(folder, file), "utf8")) as Check[]);
}
