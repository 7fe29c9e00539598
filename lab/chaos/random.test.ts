import { expect, test } from "vitest";
import { Random } from "./random.ts";

const draw = (random: Random) => Array.from({ length: 5 }, () => random.integer(1, 6));

test("the same seed produces the same numbers, and another seed different ones", () => {
  expect(draw(new Random(7))).toEqual(draw(new Random(7)));
  expect(draw(new Random(7))).not.toEqual(draw(new Random(8)));
});

test("the numbers of a fork depend on the seed and its name, not on earlier numbers", () => {
  const drawn = new Random(7);
  draw(drawn);

  expect(draw(drawn.fork("load"))).toEqual(draw(new Random(7).fork("load")));
  expect(draw(drawn.fork("load"))).not.toEqual(draw(drawn.fork("faults")));
});

test("an item is chosen in proportion to its weight", () => {
  const random = new Random(1);
  const items = [
    { name: "often", weight: 3 },
    { name: "seldom", weight: 1 },
    { name: "never", weight: 0 },
  ];

  const taken = Array.from({ length: 4_000 }, () => random.weighted(items).name);

  const often = taken.filter((name) => name === "often").length;
  expect(often).toBeGreaterThan(2_800);
  expect(often).toBeLessThan(3_200);
  expect(taken).not.toContain("never");
});
