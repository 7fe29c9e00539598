import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createRegistry, FromOpenAPI } from "@alkdev/operations";
import { beforeAll, describe, expect, test } from "vitest";

/** Queries in plain English over GitHub's document, each with the operation that the reader wants. */
const queries: ReadonlyArray<[query: string, wanted: string]> = [
  ["create an issue", "github.issues/create"],
  ["merge a pull request", "github.pulls/merge"],
  ["which files changed in a pull request", "github.pulls/list-files"],
  ["who starred a repository", "github.activity/list-stargazers-for-repo"],
  ["add labels to an issue", "github.issues/add-labels"],
  ["rerun the failed jobs of a workflow", "github.actions/re-run-workflow-failed-jobs"],
  ["read a file from a repo", "github.repos/get-content"],
  ["invite someone to my organization", "github.orgs/create-invitation"],
  ["search for code", "github.search/code"],
  ["unread notifications", "github.activity/list-notifications-for-authenticated-user"],
];

/** The wanted operation counts as found if it is among the first five results. */
const maxRank = 5;

describe("a search over GitHub's document", () => {
  const registry = createRegistry({ operations: [] });

  beforeAll(() => {
    const path = fileURLToPath(import.meta.resolve("@octokit/openapi/generated/api.github.com.json"));
    const document = JSON.parse(readFileSync(path, "utf8"));
    registry.registerAll(FromOpenAPI(document, { namespace: "github", baseUrl: "https://api.github.com" }));
  });

  test("at least eight of ten plain-English queries find the wanted operation in the first five results", () => {
    const ranks = queries.map(([query, wanted]) => {
      const ids = registry.search(query).map(({ namespace, name }) => `${namespace}.${name}`);
      return { query, wanted, rank: ids.indexOf(wanted) + 1 };
    });

    const missed = ranks.filter(({ rank }) => rank === 0 || rank > maxRank);

    expect(missed.length, JSON.stringify(missed)).toBeLessThanOrEqual(2);
  });
});
