import fc from "fast-check";
import { expect, test } from "vitest";
import { quote, toReason, truncate } from "./text.ts";

test.each([
  ["task.create", '"task.create"'],
  ["größe 漢字 😀", '"größe 漢字 😀"'],
  ['say "hi"', '"say \\"hi\\""'],
  ["two\nlines\u001b[31m", '"two\\nlines\\u001b[31m"'],
  ["admin\u200b", '"admin\\u{200b}"'],
  ["a\u202eb\u2028c\u0085", '"a\\u{202e}b\\u{2028}c\\u{85}"'],
])("quotes %j on one visible line", (text, expected) => {
  expect(quote(text)).toBe(expected);
});

test("a long string is truncated", () => {
  expect(quote("abcdef", 3)).toBe('"abc…"');
  expect(quote("abc", 3)).toBe('"abc"');
  expect(truncate("abcdef", 4)).toBe("abc…");
  expect(truncate("abcd", 4)).toBe("abcd");
});

test("a surrogate pair is not split", () => {
  expect(truncate("ab😀cd", 4)).toBe("ab…");
  expect(quote("ab😀cd", 3)).toBe('"ab…"');
});

test("the reason of an error ends without a full stop", () => {
  expect(toReason(new Error("It failed."))).toBe("It failed");
  expect(toReason(Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }))).toBe("ECONNREFUSED");
  expect(toReason("refused")).toBe("refused");
  expect(toReason(undefined)).toBe("undefined");
});

test("a quoted string is short and has no line break, for any input", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 1000 }), (text) => {
      const quoted = quote(text, 20);

      expect(quoted).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
      expect(quoted.length).toBeLessThan(20 * 10);
    }),
  );
});
