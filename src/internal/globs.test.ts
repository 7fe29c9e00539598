import { expect, test } from "vitest";
import { createGlobs } from "./globs.ts";

const fits = (glob: string, text: string) => createGlobs([glob])(text);

test("a star stands for any run of characters, also none, and the rest is taken as it is", () => {
  expect(["get_*", "*_user", "get*user", "*", "**", "get_user", "*t_u*"].map((glob) => fits(glob, "get_user"))).toEqual(
    Array(7).fill(true),
  );
  expect(["get", "et_*", "get_user*x", "get.user", "*x*", "get_us*ser"].map((glob) => fits(glob, "get_user"))).toEqual(
    Array(6).fill(false),
  );
});

test("one of many is enough, and none fits nothing", () => {
  expect(createGlobs(["a", "b*"])("bee")).toBe(true);
  expect(createGlobs([])("a")).toBe(false);
});

test("many stars before a text that does not fit take no long time", () => {
  expect(fits(`${"*a".repeat(2_000)}*b`, "a".repeat(20_000))).toBe(false);
});
