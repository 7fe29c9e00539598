import fc from "fast-check";
import { expect, test } from "vitest";
import { nearest } from "./nearest.ts";

const ids = ["task.create", "task.remove", "task.list", "user.create", "user.list"];

test.each([
  ["task.crate", "task.create"],
  ["task.creat", "task.create"],
  ["tsak.create", "task.create"],
  ["tasks.list", "task.list"],
  ["usr.lst", "user.list"],
  ["Task.Create", "task.create"],
  ["user.lists", "user.list"],
  ["task.create", "task.create"],
])("the nearest name to %s is %s", (typed, meant) => {
  expect(nearest(typed, ids)).toBe(meant);
});

test.each(["", "x", "weather.today", "task", "toString", "__proto__", "x".repeat(10_000)])(
  "%s means nothing",
  (typed) => {
    expect(nearest(typed, ids)).toBeUndefined();
  },
);

test("a name with the same letters and digits is nearest when no other is close", () => {
  const names = ["github.issues/add-labels", "github.issues/create", "github.actions/create-or-update-repo-secret"];

  expect(nearest("github.actions.createOrUpdateRepoSecret", names)).toBe(names[2]);
  expect(nearest("github.issues.addLabels", names)).toBe(names[0]);
  expect(nearest("github.issuescreated", names)).toBe("github.issues/create");
  expect(nearest("--------", ["........"])).toBeUndefined();
});

test("two swapped neighbours are one change", () => {
  expect(nearest("lsit", ["call", "list"])).toBe("list");
  expect(nearest("tsil", ["list"])).toBeUndefined();
});

test("the first of equally near names is returned", () => {
  expect(nearest("abc.dex", ["abc.dey", "abc.dez"])).toBe("abc.dey");
  expect(nearest("abc.dex", ["abc.dez", "abc.dey"])).toBe("abc.dez");
});

test("long candidates and long names are ignored", () => {
  expect(nearest("a".repeat(128), ["a".repeat(10_000), "a".repeat(130)])).toBe("a".repeat(130));
  expect(nearest("a".repeat(129), ["a".repeat(129)])).toBeUndefined();
});

/** The textbook definition, with memoisation. */
function distance(a: string, b: string, memory = new Map<string, number>()): number {
  if (a === "" || b === "") return a.length + b.length;
  const key = `${a}|${b}`;
  const known = memory.get(key);
  if (known !== undefined) return known;
  const [restA, restB] = [a.slice(1), b.slice(1)];
  const replace = distance(restA, restB, memory) + (a[0] === b[0] ? 0 : 1);
  const result = Math.min(replace, 1 + distance(restA, b, memory), 1 + distance(a, restB, memory));
  memory.set(key, result);
  return result;
}

function isSwap(a: string, b: string): boolean {
  const swaps = Array.from(a, (_, index) => a.slice(0, index) + a[index + 1] + a[index] + a.slice(index + 2));
  return a !== b && swaps.slice(0, -1).includes(b);
}

test("finds the same candidate as a comparison with all of them", () => {
  const name = fc.string({ unit: fc.constantFrom("a", "b", "c", "."), maxLength: 14 });
  fc.assert(
    fc.property(name, fc.array(name, { minLength: 1, maxLength: 8 }), (typed, candidates) => {
      const limit = Math.min(3, Math.floor(typed.length / 3));
      const distances = candidates.map((candidate) => (isSwap(typed, candidate) ? 1 : distance(typed, candidate)));
      const best = Math.min(...distances);

      expect(nearest(typed, candidates)).toBe(best <= limit ? candidates[distances.indexOf(best)] : undefined);
    }),
    { numRuns: 500 },
  );
});
