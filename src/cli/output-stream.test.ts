import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { OutputStream, toPrintable, toPrintableLine } from "./output-stream.ts";

test.each([
  ["colors and cursor movements", "a\u001b[31mb\u001b]0;title\u0007", "a\\u001b[31mb\\u001b]0;title\\u0007"],
  ["control characters beyond ASCII", "a\u009b31m\u0085", "a\\u009b31m\\u0085"],
  ["characters that reorder text", "a\u202eb\u2066", "a\\u202eb\\u2066"],
  ["separators of lines", "a\u2028b\rc", "a\\u2028b\\u000dc"],
  ["tags beyond the first plane", "a\u{e0041}", "a\\udb40\\udc41"],
])("%s become visible", (_, text, expected) => {
  expect(toPrintable(text)).toBe(expected);
});

test("ordinary text stays as it is, in one line or in several", () => {
  expect(toPrintable("Grüße\n\t日本")).toBe("Grüße\n\t日本");
  expect(toPrintableLine("  Grüße\n\t日本 ")).toBe("Grüße 日本");
});

test.each([
  ["a terminal", true, {}, true],
  ["a pipe", false, {}, false],
  ["a pipe in a CI system", false, { CI: "true" }, false],
  ["NO_COLOR", true, { NO_COLOR: "1", FORCE_COLOR: "1" }, false],
  ["an empty NO_COLOR", true, { NO_COLOR: "" }, true],
  ["FORCE_COLOR", false, { FORCE_COLOR: "1" }, true],
  ["FORCE_COLOR=0", true, { FORCE_COLOR: "0" }, false],
  ["CLICOLOR_FORCE", false, { CLICOLOR_FORCE: "1" }, true],
  ["a dumb terminal", true, { TERM: "dumb" }, false],
])("%s decides about colors", (_, isTTY, environment, isColored) => {
  const stream = Object.assign(new PassThrough(), { isTTY }) as unknown as NodeJS.WriteStream;
  const colored = isColored ? "\u001b[31mx\u001b[39m" : "x";

  expect(new OutputStream(stream, environment, true).colors.red("x")).toBe(colored);
  expect(new OutputStream(stream, environment, false).colors.red("x")).toBe("x");
});
