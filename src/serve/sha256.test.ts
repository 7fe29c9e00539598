import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { sha256 } from "./sha256.ts";

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

test.each(["", "abc", "x".repeat(55), "x".repeat(56), "x".repeat(64), "é".repeat(1_000)])(
  "is that of Node for %j",
  (text) => {
    expect(sha256(text)).toBe(digestOf(text));
  },
);

test("is that of Node for every string", () => {
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => sha256(text) === digestOf(text)));
});
