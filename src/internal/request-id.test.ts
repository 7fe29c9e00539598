import { afterEach, expect, test, vi } from "vitest";
import { createId, nextRequestId } from "./request-id.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

test.each([createId, nextRequestId])("$name never returns the same id twice", (create) => {
  expect(new Set(Array.from({ length: 20_000 }, create)).size).toBe(20_000);
});

test("ids can be created on a page that is not secure", () => {
  vi.stubGlobal("crypto", { getRandomValues: crypto.getRandomValues.bind(crypto) });

  const ids = Array.from({ length: 1_000 }, createId);

  expect(new Set(ids).size).toBe(1_000);
  expect(ids.every((id) => /^[\w-]{24}$/.test(id))).toBe(true);
});
