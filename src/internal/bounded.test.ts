import fc from "fast-check";
import { expect, test } from "vitest";
import { BoundedMap } from "./bounded.ts";

test("the oldest entry is removed, and an entry that is set again is the newest", () => {
  const map = new BoundedMap<string, number>(2);

  map.set("a", 1).set("b", 2).set("a", 3).set("c", 4);

  expect([...map]).toEqual([
    ["a", 3],
    ["c", 4],
  ]);
});

test("after any changes, a map has the newest entries", () => {
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant("set" as const), key: fc.nat(12) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant("delete" as const), key: fc.nat(12) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("clear" as const), key: fc.constant(0) }) },
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 200 }), (max, steps) => {
      const map = new BoundedMap<number, number>(max);
      let expected: number[] = [];

      for (const { do: action, key } of steps) {
        if (action === "clear") map.clear();
        else if (action === "delete") map.delete(key);
        else map.set(key, key);
        expected = action === "clear" ? [] : expected.filter((other) => other !== key);
        if (action === "set") expected = [...expected, key].slice(-max);
        expect([...map.keys()]).toEqual(expected);
      }
    }),
  );
});
