import { expect, test } from "vitest";
import { importQuietly, openAPI } from "./testing.ts";

function namesOf(paths: Record<string, unknown>): string[] {
  return importQuietly(openAPI({ paths })).operations.map(({ name }) => name);
}

test("an operation is named by its operationId as written", () => {
  const ids = ["users/list.all", "__proto__", "constructor", "toString", "has space", "ünïcode"];
  const paths = Object.fromEntries(ids.map((operationId, index) => [`/p${index}`, { get: { operationId } }]));

  expect(namesOf(paths)).toEqual(ids);
});

test("without an operationId the method and the path are the name, parameters in", () => {
  const entry = { get: {}, delete: { operationId: "" } };

  expect(namesOf({ "/users/{user-id}/posts.json": entry, "/": { get: {} } })).toEqual([
    "get_users_user_id_posts_json",
    "delete_users_user_id_posts_json",
    "get",
  ]);
});

test("the later of two operations with one name is qualified and reported", () => {
  const { operations, report } = importQuietly(
    openAPI({ paths: { "/a": { get: { operationId: "same" } }, "/b": { get: { operationId: "same" } } } }),
  );

  expect(operations.map(({ name }) => name)).toEqual(["same", "same_get_b"]);
  expect(report.warnings).toEqual([
    {
      where: "#/paths/~1b/get",
      reason: 'The name "same" is already used by #/paths/~1a/get. The operation is named "same_get_b".',
    },
  ]);
});

test("no name is lost, however often names clash", () => {
  const same = { operationId: "x" };
  const names = namesOf({ "/a": { get: same }, "/a/": { get: same }, "//": {}, "/a.": { get: same } });

  expect(names).toEqual(["x", "x_get_a", "x_get_a_2"]);
});

test("thousands of entries with the same name receive different names, in time", () => {
  const marks = [..."-!()+,;=@~$&*'"];
  const keys = marks.flatMap((a) => marks.flatMap((b) => marks.flatMap((c) => marks.map((d) => `/x${a}${b}${c}${d}`))));
  const paths = Object.fromEntries(keys.slice(0, 10_000).map((path) => [path, { get: { operationId: "x" } }]));

  const { report } = importQuietly(openAPI({ paths }));

  expect([new Set(report.imported).size, report.imported.at(-1)]).toEqual([10_000, "test.x_get_x_9999"]);
});

test("a name of 10,000 characters or with control characters is adapted, and stays unique", () => {
  const long = "n".repeat(10_000);
  const names = namesOf({
    "/a": { get: { operationId: `${long}a` } },
    "/b": { get: { operationId: `${long}b` } },
    "/c": { get: { operationId: "line\nbreak\u0000" } },
  });

  expect(names.map((name) => name.length)).toEqual([256, 256, 11]);
  expect(new Set(names).size).toBe(3);
  expect(names[2]).toBe("line_break_");
});

test("rename assigns new names, by a table or by a function", () => {
  const spec = openAPI({ paths: { "/a": { get: { operationId: "one" }, put: { operationId: "two" } } } });

  const byTable = importQuietly(spec, { rename: { one: "uno" } });
  const byFunction = importQuietly(spec, { rename: (name, { method }) => `${method}-${name}` });

  expect(byTable.report.imported).toEqual(["test.uno", "test.two"]);
  expect(byFunction.report.imported).toEqual(["test.GET-one", "test.PUT-two"]);
});

test.each(["", "a.b", "x".repeat(65), "line\nbreak"])("the namespace %j is refused", (namespace) => {
  expect(() => importQuietly(openAPI(), { namespace })).toThrow(expect.objectContaining({ code: "VALIDATION_ERROR" }));
});
