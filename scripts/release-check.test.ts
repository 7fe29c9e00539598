import { expect, test } from "vitest";
import { findReleaseProblems } from "./release-check.ts";

const ready = {
  manifest: {
    version: "0.2.0",
    repository: { type: "git", url: "git+https://example.com/operations.git" },
    bugs: "https://example.com/operations/issues",
    homepage: "https://example.com/operations#readme",
  },
  changelog: "# Changelog\n\n## 0.2.0 (2026-11-16)\n\n## 0.1.0 (2026-11-01)\n",
  tag: "v0.2.0",
};

test("a manifest with its addresses, the tag of its version and a dated changelog is ready for a release", () => {
  expect(findReleaseProblems(ready)).toEqual([]);
});

test("each missing address is named with the reason", () => {
  expect(findReleaseProblems({ ...ready, manifest: { version: "0.2.0" } })).toEqual([
    'package.json has no "repository". npm refuses to publish with provenance unless it is the repository that the workflow runs in. Add it, see .github/RELEASING.md.',
    'package.json has no "bugs". It is the address of the issues, which npm shows to users. Add it, see .github/RELEASING.md.',
    'package.json has no "homepage". It is the address that npm links from the page of the package. Add it, see .github/RELEASING.md.',
  ]);
});

test.each([
  ["v0.1.0", "The tag is v0.1.0, but package.json has version 0.2.0. Tag the commit as v0.2.0."],
  [undefined, "RELEASE_TAG is not set, but package.json has version 0.2.0. Tag the commit as v0.2.0."],
])("a tag that is not the version is refused: %s", (tag, problem) => {
  expect(findReleaseProblems({ ...ready, tag })).toEqual([problem]);
});

test.each(["## 0.2.0 (unreleased)", "## 0.1.0 (2026-11-01)"])("a changelog with only %s is not ready", (changelog) => {
  expect(findReleaseProblems({ ...ready, changelog })).toEqual([
    'CHANGELOG.md has no heading "## 0.2.0 (<date>)". Replace "unreleased" with the date.',
  ]);
});
