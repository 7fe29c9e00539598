import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { maxToolNameLength, searchToolNames, toToolName } from "./tool-name.ts";

describe("toToolName", () => {
  test.each([
    ["task.create", "task_create"],
    ["task.create_many", "task_create_many"],
    ["my-tasks.create-1", "my-tasks_create-1"],
    [`a.${"b".repeat(62)}`, `a_${"b".repeat(62)}`],
  ])("joins the parts of %s, because no other id has that name", (id, name) => {
    expect(toToolName(id)).toBe(name);
  });

  test.each([
    ["an underscore in the namespace", "my_tasks.create", /^my_tasks_create_[0-9a-f]{16}$/],
    ["another character", "github.issues/create", /^github_issues_create_[0-9a-f]{16}$/],
    ["a dot in the name", "fs.read.file", /^fs_read_file_[0-9a-f]{16}$/],
    ["too many characters", `a.${"b".repeat(63)}`, /^a_b{45}_[0-9a-f]{16}$/],
    ["no readable character", "タスク.作成", /^_[0-9a-f]{16}$/],
    ["a name that looks like a hash", "task.create_0123456789abcdef", /^task_create_0123456789abcdef_[0-9a-f]{16}$/],
    ["the name of a search tool", "search.operations", /^search_operations_[0-9a-f]{16}$/],
    ["the name of a search tool", "call.operation", /^call_operation_[0-9a-f]{16}$/],
  ])("adds a hash for %s", (_reason, id, name) => {
    expect(toToolName(id)).toMatch(name);
  });

  test("differs for ids that join to the same string", () => {
    expect(toToolName("a_b.c")).not.toBe(toToolName("a.b_c"));
    expect(toToolName("github.issues/create")).not.toBe(toToolName("github.issues_create"));
  });

  test("is valid for every id, and differs for different ids", () => {
    const part = (max: number) =>
      fc.string({ unit: fc.constantFrom(..."ab_-/.0é"), minLength: 1, maxLength: max }).map((text) => text);
    const id = fc.tuple(part(64), part(256)).map(([namespace, name]) => `${namespace.replaceAll(".", "_")}.${name}`);
    fc.assert(
      fc.property(fc.uniqueArray(id, { minLength: 2, maxLength: 40 }), (ids) => {
        const names = ids.map(toToolName);
        for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        expect(new Set(names).size).toBe(ids.length);
        expect(names.some((name) => Object.values<string>(searchToolNames).includes(name))).toBe(false);
        expect(names.every((name) => name.length <= maxToolNameLength)).toBe(true);
      }),
    );
  });
});
