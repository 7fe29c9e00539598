import { expect, test } from "vitest";
import type { Mutant } from "./candidates.ts";
import { chooseMutants } from "./choose.ts";

const candidatesOf = (file: string, count: number): Mutant[] =>
  Array.from({ length: count }, (_, index) => {
    return { file, line: index + 1, kind: "number", start: index, end: index + 1, replacement: "0" };
  });
const all = [...candidatesOf("a.ts", 60), ...candidatesOf("b.ts", 30), ...candidatesOf("c.ts", 10)];
const placesOf = (mutants: readonly Mutant[]) => mutants.map(({ file, line }) => `${file}:${line}`);
const countIn = (mutants: readonly Mutant[], name: string) => mutants.filter(({ file }) => file === name).length;

test("each file gets its share", () => {
  const chosen = chooseMutants(all, 15, 1);

  expect(["a.ts", "b.ts", "c.ts"].map((file) => countIn(chosen, file))).toEqual([9, 5, 1]);
  expect(new Set(placesOf(chosen)).size).toBe(15);
});

test("a seed always yields the same changes, another seed others", () => {
  expect(placesOf(chooseMutants(all, 20, 1))).toEqual(placesOf(chooseMutants(all, 20, 1)));
  expect(placesOf(chooseMutants(all, 20, 1))).not.toEqual(placesOf(chooseMutants(all, 20, 2)));
});

test("the changes of a file do not depend on other files", () => {
  const before = chooseMutants(all, 10, 1).filter(({ file }) => file === "a.ts");
  const after = chooseMutants([...candidatesOf("a.ts", 60), ...candidatesOf("d.ts", 40)], 10, 1);

  expect(placesOf(after.filter(({ file }) => file === "a.ts")).sort()).toEqual(placesOf(before).sort());
});

test("with fewer candidates than wanted, all are chosen", () => {
  expect(placesOf(chooseMutants(all, 500, 1)).sort()).toEqual(placesOf(all).sort());
});
