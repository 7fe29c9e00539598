import { expect, test } from "vitest";
import { InvalidUTF8, UTF8Reader } from "./utf8-reader.ts";

test("one leading byte order mark is removed, however the bytes are split", () => {
  const bytes = new TextEncoder().encode("\uFEFF\uFEFFä🚀\uFEFF");

  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      const reader = new UTF8Reader();
      const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];

      expect(pieces.map((piece) => reader.read(piece)).join("") + reader.read()).toBe("\uFEFFä🚀\uFEFF");
    }
  }
});

test.each([
  ["an invalid first byte", [0x41, 0xff, 0x42], "A"],
  ["an overlong form", [0x41, 0xc0, 0xaf], "A"],
  ["a surrogate", [0xed, 0xa0, 0x80], ""],
  ["an incomplete character", [0x41, 0xe2, 0x82], ""],
])("%s is refused, however the bytes are split", (_, given, before) => {
  const bytes = new Uint8Array(given);

  for (let cut = 0; cut <= bytes.length; cut++) {
    const reader = new UTF8Reader();
    const read = () => reader.read(bytes.subarray(0, cut)) + reader.read(bytes.subarray(cut)) + reader.read();

    expect(read).toThrow(InvalidUTF8);
  }
  const whole = new UTF8Reader();
  expect(() => whole.read(bytes) + whole.read()).toThrow(expect.objectContaining({ text: before }));
});

test("a U+FFFD in the input is kept, however the bytes are split", () => {
  const bytes = new TextEncoder().encode("a\uFFFDb\uFFFD\uFFFD");

  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      const reader = new UTF8Reader();
      const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];

      expect(pieces.map((piece) => reader.read(piece)).join("") + reader.read()).toBe("a\uFFFDb\uFFFD\uFFFD");
    }
  }
});
