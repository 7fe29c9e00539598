import { describe, expect, test } from "vitest";
import { OperationRegistry } from "./index.ts";
import { operation } from "./testing.ts";
import type { SearchOptions } from "./types.ts";

/** Registers the operations and returns a function that searches them for ids. */
function searchIn(...operations: Array<Parameters<typeof operation>[0]>) {
  const registry = new OperationRegistry();
  registry.registerAll(operations.map((overrides) => operation(overrides)));
  const find = (query: string, options?: SearchOptions) =>
    registry.search(query, options).map(({ namespace, name }) => `${namespace}.${name}`);
  return { registry, find };
}

describe("relevance", () => {
  test("a word in the name ranks above one in the title, and that above one in the description", () => {
    const { find } = searchIn(
      { namespace: "a", name: "one", description: "Sends an invoice to the customer." },
      { namespace: "b", name: "two", title: "Send one invoice now", description: "" },
      { namespace: "c", name: "invoice", description: "" },
    );

    expect(find("invoice")).toEqual(["c.invoice", "b.two", "a.one"]);
  });

  test("any word may match, and an operation that matches more words ranks higher", () => {
    const { find } = searchIn(
      { namespace: "task", name: "list", description: "" },
      { namespace: "mail", name: "send", description: "" },
      { namespace: "task", name: "create", description: "" },
    );

    expect(find("create a task")).toEqual(["task.create", "task.list"]);
  });

  test("a rare word weighs more than a common one", () => {
    const { find } = searchIn(
      { namespace: "shop", name: "order-list", description: "" },
      { namespace: "shop", name: "order-cancel", description: "" },
      { namespace: "shop", name: "order-refund", description: "" },
      { namespace: "shop", name: "voucher-list", description: "" },
    );

    expect(find("order voucher")).toEqual([
      "shop.voucher-list",
      "shop.order-list",
      "shop.order-cancel",
      "shop.order-refund",
    ]);
  });

  test("plural forms, other forms of a verb, and prefixes in both directions match", () => {
    const { find } = searchIn(
      { namespace: "git", name: "mergeBranches", description: "" },
      { namespace: "host", name: "repo", description: "" },
    );

    expect(find("branch")).toEqual(["git.mergeBranches"]);
    expect(find("merging")).toEqual(["git.mergeBranches"]);
    expect(find("bran")).toEqual(["git.mergeBranches"]);
    expect(find("repository")).toEqual(["host.repo"]);
  });

  test("a word with the same meaning matches, and weighs less than the word itself", () => {
    const { find } = searchIn(
      { namespace: "a", name: "deleteFile", description: "" },
      { namespace: "b", name: "removeFile", description: "" },
      { namespace: "c", name: "readFile", description: "" },
    );

    expect(find("remove a file")).toEqual(["b.removeFile", "a.deleteFile", "c.readFile"]);
    expect(find("destroy")).toEqual(["a.deleteFile", "b.removeFile"]);
  });

  test("an action that no operation is named after is likely to be a change", () => {
    const { find } = searchIn(
      { namespace: "issue", name: "get", title: "Get an issue", description: "" },
      { namespace: "issue", name: "update", title: "Update an issue", description: "" },
    );

    expect(find("close an issue")).toEqual(["issue.update", "issue.get"]);
    expect(find("issue")).toEqual(["issue.get", "issue.update"]);
  });

  test("an action that an operation is named after stays rare, however many operations are changes", () => {
    const { find } = searchIn(
      { namespace: "job", name: "list-for-run", title: "List the jobs of a run", description: "" },
      { namespace: "run", name: "cancel", title: "Cancel a run", description: "" },
      ...Array.from({ length: 20 }, (_, index) => ({ namespace: "a", name: `update-${index}`, description: "" })),
    );

    expect(find("cancel a running job")[0]).toBe("run.cancel");
  });

  test("an operation whose name and title have no other words than the query ranks higher", () => {
    const { find } = searchIn(
      { namespace: "a", name: "create-issue-export", description: "Creates an issue." },
      { namespace: "b", name: "create-issue", description: "" },
    );

    expect(find("create an issue")).toEqual(["b.create-issue", "a.create-issue-export"]);
  });

  test("an operation without a word in its name is ranked by its description", () => {
    const { find } = searchIn(
      { namespace: "a", name: "long", description: "One apple, among many other things that it describes." },
      { namespace: "b", name: "+", description: "Apple" },
      { namespace: "c", name: "other", description: "Apple and pear" },
    );

    expect(find("apple")).toEqual(["b.+", "c.other", "a.long"]);
  });

  test("a limit returns the first of all results", () => {
    const { find } = searchIn(
      ...Array.from({ length: 100 }, (_, index) => ({
        namespace: "a",
        name: `item${index}`,
        description: "word ".repeat((index * 37) % 100),
      })),
    );
    const all = find("word");

    expect(all).toHaveLength(99);
    expect(new Set(all).size).toBe(99);
    for (const limit of [1, 29, 30, 31, 99]) expect(find("word", { limit })).toEqual(all.slice(0, limit));
  });

  test("an operation whose id or name equals the query ranks first", () => {
    const { find } = searchIn(
      { namespace: "a", name: "get-user-user", title: "Get user", description: "Get user, get user" },
      { namespace: "b", name: "Get-User", description: "" },
    );

    expect(find("get-user")).toEqual(["b.Get-User", "a.get-user-user"]);
    expect(find("B.GET-USER")).toEqual(["b.Get-User", "a.get-user-user"]);
  });

  test("an operation without a word in its name is found by its name", () => {
    const { find } = searchIn(
      { namespace: "a", name: "+", description: "Adds numbers." },
      { namespace: "a", name: "-", description: "" },
    );

    expect(find("+")).toEqual(["a.+"]);
    expect(find("a.-")).toEqual(["a.-", "a.+"]);
  });

  test("equal results and results of an empty query are in the order they were added", () => {
    const { find } = searchIn(
      { namespace: "z", name: "same", description: "" },
      { namespace: "a", name: "same", description: "" },
      { namespace: "m", name: "same", description: "" },
    );

    expect(find("same")).toEqual(["z.same", "a.same", "m.same"]);
    expect(find("  ")).toEqual(["z.same", "a.same", "m.same"]);
  });

  test("a query without a match returns nothing", () => {
    const { find } = searchIn({ namespace: "task", name: "create", description: "Adds one." });

    expect(find("zebra")).toEqual([]);
    expect(find("?!")).toEqual([]);
    expect(find("constructor __proto__")).toEqual([]);
  });
});

describe("options", () => {
  const operations: Array<Parameters<typeof operation>[0]> = [
    { namespace: "task", name: "create", tags: ["write"] },
    { namespace: "task", name: "list" },
    { namespace: "mail", name: "list", accessControl: { requiredScopes: ["mail"] } },
  ];

  test("namespace, tag and limit narrow the results", () => {
    const { find } = searchIn(...operations);

    expect(find("", { tag: "write" })).toEqual(["task.create"]);
    expect(find("list", { namespace: "mail" })).toEqual(["mail.list"]);
    expect(find("list", { tag: "write" })).toEqual([]);
    expect(find("list", { limit: 1 })).toEqual(["task.list"]);
    expect(find("list", { limit: 0 })).toEqual([]);
  });

  test("with an identity, only operations whose scopes it has are found", () => {
    const { find } = searchIn(...operations);

    expect(find("list")).toEqual(["task.list", "mail.list"]);
    expect(find("list", { identity: { id: "ada", scopes: ["mail"] } })).toEqual(["task.list", "mail.list"]);
    expect(find("list", { identity: { id: "ada", scopes: [] } })).toEqual(["task.list"]);
    expect(find("list", { identity: null })).toEqual(["task.list"]);
  });
});

describe("changes", () => {
  test("a search includes changes since the last one", () => {
    const { registry, find } = searchIn(
      { namespace: "a", name: "one", description: "apple" },
      { namespace: "a", name: "two", description: "apple" },
    );
    expect(find("apple")).toEqual(["a.one", "a.two"]);

    registry.register(operation({ namespace: "a", name: "three", description: "apple" }));
    registry.replace(operation({ namespace: "a", name: "one", description: "pear" }));
    registry.unregister("a.two");

    expect(find("apple")).toEqual(["a.three"]);
    expect(find("pear")).toEqual(["a.one"]);
    expect(find("")).toEqual(["a.one", "a.three"]);
  });

  test("a replaced operation keeps its position among equal results", () => {
    const { registry, find } = searchIn(
      { namespace: "a", name: "same", description: "" },
      { namespace: "b", name: "same", description: "" },
    );
    expect(find("same")).toEqual(["a.same", "b.same"]);

    registry.replace(operation({ namespace: "a", name: "same", description: "" }));

    expect(find("same")).toEqual(["a.same", "b.same"]);
    expect(find("")).toEqual(["a.same", "b.same"]);
  });

  test("thousands of changes do not grow the index", () => {
    const { registry, find } = searchIn({ namespace: "a", name: "first", description: "apple" });
    find("apple");

    for (let round = 0; round < 1_000; round++) {
      registry.register(operation({ namespace: "b", name: `passing${round}`, description: "apple" }));
      registry.replace(operation({ namespace: "a", name: "first", description: `apple ${round}` }));
      registry.unregister(`b.passing${round}`);
    }

    expect(find("apple")).toEqual(["a.first"]);
    expect(find("999")).toEqual(["a.first"]);
    expect(find("998")).toEqual([]);
  });
});
