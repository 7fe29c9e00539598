import { expect, test } from "vitest";
import { importQuietly, openAPI } from "./testing.ts";

const spec = openAPI({
  paths: {
    "/repos": {
      get: { operationId: "repos/list", tags: ["repos"] },
      post: { operationId: "repos/create", tags: ["repos"] },
    },
    "/repos/{id}/issues": { get: { operationId: "issues/list", tags: ["issues"] } },
    "/user": { get: { operationId: "me" } },
  },
});

test.each([
  ["names", ["me", "issues/list"], ["issues/list", "me"]],
  ["ids", ["test.me"], ["me"]],
  ["tags", ["repos"], ["repos/list", "repos/create"]],
  ["paths with a star", ["/repos*"], ["repos/list", "repos/create", "issues/list"]],
  ["a method and a path", ["GET /repos"], ["repos/list"]],
  ["a star within", ["*/list"], ["repos/list", "issues/list"]],
  ["told apart", { tags: ["issues"], ids: ["me"] }, ["issues/list", "me"]],
  ["nothing", [], []],
])("include takes by %s", (_name, include, expected) => {
  const { operations } = importQuietly(spec, { include });

  expect(operations.map(({ name }) => name)).toEqual(expected);
});

test("exclude wins over include, and what is excluded is reported", () => {
  const { operations, report } = importQuietly(spec, { include: ["repos*"], exclude: { paths: ["POST *"] } });

  expect(operations.map(({ name }) => name)).toEqual(["repos/list"]);
  expect(report.skipped.map(({ where }) => where)).toEqual([
    "#/paths/~1repos/post",
    "#/paths/~1repos~1{id}~1issues/get",
    "#/paths/~1user/get",
  ]);
});

test("a renamed operation is found by its old name and its new one", () => {
  const rename = { me: "myself" };

  expect(importQuietly(spec, { rename, include: ["me"] }).report.imported).toEqual(["test.myself"]);
  expect(importQuietly(spec, { rename, include: ["myself"] }).report.imported).toEqual(["test.myself"]);
});

test("the limit on operations counts those that are taken", () => {
  expect(importQuietly(spec, { include: ["me"], limits: { operations: 1 } }).report.imported).toEqual(["test.me"]);
  expect(() => importQuietly(spec, { limits: { operations: 3 } })).toThrow(
    expect.objectContaining({ code: "LIMIT_EXCEEDED", details: { limit: "operations" } }),
  );
});
