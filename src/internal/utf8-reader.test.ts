import { expect, test } from "vitest";
import { UTF8Reader } from "./utf8-reader.ts";

test("one byte order mark at the start is left out, however the bytes are cut", () => {
  const bytes = new TextEncoder().encode("\uFEFF\uFEFFä🚀\uFEFF");

  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      const reader = new UTF8Reader();
      const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];

      expect(pieces.map((piece) => reader.read(piece)).join("") + reader.read()).toBe("\uFEFFä🚀\uFEFF");
    }
  }
});

test("bytes that are no UTF-8, and a character that never ends, are replaced", () => {
  const reader = new UTF8Reader();

  expect(reader.read(new Uint8Array([0xff, 0x41, 0xe2, 0x82])) + reader.read()).toBe("\uFFFDA\uFFFD");
});
