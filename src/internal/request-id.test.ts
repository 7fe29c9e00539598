import { expect, test } from "vitest";
import { nextRequestId, randomRequestId } from "./request-id.ts";

test("ids are never given twice", () => {
  const ids = Array.from({ length: 20_000 }, () => [nextRequestId(), randomRequestId()]).flat();

  expect(new Set(ids).size).toBe(40_000);
});

test("random ids have all values in all places, behind what all ids of a process share", () => {
  const ids = Array.from({ length: 2_000 }, randomRequestId);

  const letters = Array.from({ length: 16 }, (_, place) => new Set(ids.map((id) => id.slice(33)[place])));
  expect(letters.map((set) => [...set].sort().join(""))).toEqual(Array(16).fill("abcdefghijklmnop"));
  expect(new Set(ids.map((id) => id.slice(0, 33))).size).toBe(1);
});
