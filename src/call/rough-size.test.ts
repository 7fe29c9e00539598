import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { roughSize } from "./rough-size.ts";

const unlimited = Number.POSITIVE_INFINITY;

describe("the rough size of a value", () => {
  test.each([
    ["a string", "x".repeat(1_000), 1_008],
    ["a number", 1, 8],
    ["undefined", undefined, 8],
    ["a bigint", 5n, 8],
    ["a large bigint", 2n ** 8_000n, 1_008.5],
    ["an object", { text: "x".repeat(1_000), n: 1 }, 8 + 12 + 9 + 1_008 + 8],
    ["a list", [1, 2, 3], 8 * 4 + 3 * 8],
    ["bytes", new Uint8Array(1_000), 1_008],
    ["a buffer", new ArrayBuffer(1_000), 1_008],
    ["a map", new Map([["key", 1]]), 32 + 11 + 8],
    ["an error", new Error("x".repeat(100)), 8 + 108 + 8],
  ])("of %s", (_, value, size) => {
    expect(roughSize(value, unlimited)).toBe(size);
  });

  test("is counted up to the limit", () => {
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    let reads = 0;
    const items = Array.from({ length: 1_000 }, () => ({
      get text() {
        reads += 1;
        return "x".repeat(100);
      },
    }));

    expect(roughSize(cyclic, 1_000)).toBeGreaterThanOrEqual(1_000);
    expect(roughSize(items, 9_000)).toBeGreaterThanOrEqual(9_000);
    expect(reads).toBeLessThan(10);
    expect(roughSize(new Array(1e9), 1_000)).toBeGreaterThanOrEqual(1_000);
  });

  test("is a number for every value", () => {
    const throwing = new Proxy({}, { ownKeys: () => [1 as never] });

    expect(roughSize(throwing, 1_000)).toBe(8);
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withMap: true, withSet: true, withTypedArray: true }), (value) => {
        expect(roughSize(value, 1e6)).toBeGreaterThan(0);
      }),
    );
  });
});
