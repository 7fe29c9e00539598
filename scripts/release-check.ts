/**
 * Reports what is missing for a release. Reads the tag from `RELEASE_TAG` and ends with
 * `N passed, N failed`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./subpaths.ts";

/** The facts that a release depends on. */
export interface ReleaseFacts {
  /** The parsed `package.json`. */
  manifest: Record<string, unknown>;
  /** The content of `CHANGELOG.md`. */
  changelog: string;
  /** The name of the tag, such as `v0.1.0`. */
  tag: string | undefined;
}

/** The fields of `package.json` that depend on the address of the repository. */
const addresses: Record<string, string> = {
  repository: "npm refuses to publish with provenance unless it is the repository that the workflow runs in.",
  bugs: "It is the address of the issues, which npm shows to users.",
  homepage: "It is the address that npm links from the page of the package.",
};

/** Returns the problems that prevent a release, as sentences that explain what to do. */
export function findReleaseProblems({ manifest, changelog, tag }: ReleaseFacts): string[] {
  const version = String(manifest["version"]);
  const problems = Object.entries(addresses)
    .filter(([field]) => manifest[field] === undefined)
    .map(([field, reason]) => `package.json has no "${field}". ${reason} Add it, see .github/RELEASING.md.`);
  if (tag !== `v${version}`) {
    const found = tag === undefined ? "RELEASE_TAG is not set" : `The tag is ${tag}`;
    problems.push(`${found}, but package.json has version ${version}. Tag the commit as v${version}.`);
  }
  const heading = changelog.split("\n").find((line) => line.startsWith(`## ${version}`));
  if (heading === undefined || !/ \(\d{4}-\d\d-\d\d\)$/.test(heading)) {
    problems.push(`CHANGELOG.md has no heading "## ${version} (<date>)". Replace "unreleased" with the date.`);
  }
  return problems;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const problems = findReleaseProblems({
    manifest: JSON.parse(readFileSync(join(root, "package.json"), "utf8")),
    changelog: readFileSync(join(root, "CHANGELOG.md"), "utf8"),
    tag: process.env["RELEASE_TAG"],
  });
  for (const problem of problems) console.log(problem);
  console.log(`\n${problems.length === 0 ? 1 : 0} passed, ${problems.length} failed`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
