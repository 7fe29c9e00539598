import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createRegistry, FromOpenAPI } from "@alkdev/operations";
import { beforeAll, describe, expect, test } from "vitest";
import { descriptionQueries, firstQueries, heldOutQueries, knownQueries, testerQueries } from "./search-queries.ts";

/** The wanted operation counts as found if it is among the first five results. */
const maxRank = 5;

describe("a search over GitHub's document", () => {
  const registry = createRegistry({ operations: [] });

  beforeAll(() => {
    const path = fileURLToPath(import.meta.resolve("@octokit/openapi/generated/api.github.com.json"));
    const document = JSON.parse(readFileSync(path, "utf8"));
    registry.registerAll(FromOpenAPI(document, { namespace: "github", baseUrl: "https://api.github.com" }));
  });

  test.each([
    ["first", firstQueries, 9],
    ["known", knownQueries, 17],
    ["held-out", heldOutQueries, 16],
    ["tester's", testerQueries, 16],
    ["description's", descriptionQueries, 8],
  ])("the %s queries find a wanted operation in the first five results", (_set, queries, minFound) => {
    const missed = queries.filter(([query, ...wanted]) => {
      const names = registry.search(query, { limit: maxRank }).map(({ name }) => name);
      return !wanted.some((name) => names.includes(name));
    });

    expect(queries.length - missed.length, JSON.stringify(missed)).toBeGreaterThanOrEqual(minFound);
  });
});
