import { expect, test } from "vitest";
import { nextRequestId, randomRequestId } from "./request-id.ts";

test("ids are never given twice", () => {
  const ids = Array.from({ length: 20_000 }, () => [nextRequestId(), randomRequestId()]).flat();

  expect(new Set(ids).size).toBe(40_000);
});

test("random ids have every letter in every place", () => {
  const ids = Array.from({ length: 5_000 }, randomRequestId);

  const letters = Array.from({ length: 25 }, (_, place) => new Set(ids.map((id) => id[place])));
  expect(letters.map((set) => set.size)).toEqual(Array(25).fill(64));
  expect(ids.every((id) => /^[\w-]{25}$/.test(id))).toBe(true);
});
