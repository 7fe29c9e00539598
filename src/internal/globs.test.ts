import { expect, test } from "vitest";
import { createGlobs } from "./globs.ts";

const fits = (glob: string, text: string) => createGlobs([glob])(text);

test("a star matches any characters, also none, and other characters match themselves", () => {
  expect(["get_*", "*_user", "get*user", "*", "**", "get_user", "*t_u*"].map((glob) => fits(glob, "get_user"))).toEqual(
    Array(7).fill(true),
  );
  expect(["get", "et_*", "get_user*x", "get.user", "*x*", "get_us*ser"].map((glob) => fits(glob, "get_user"))).toEqual(
    Array(6).fill(false),
  );
});

test("one matching glob is enough, and an empty list matches nothing", () => {
  expect(createGlobs(["a", "b*"])("bee")).toBe(true);
  expect(createGlobs([])("a")).toBe(false);
});

test("many stars take linear time on a string that does not match", () => {
  expect(fits(`${"*a".repeat(2_000)}*b`, "a".repeat(20_000))).toBe(false);
});
