import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { fromBase64, fromLooseBase64, toBase64, toBase64URL } from "./base64.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

describe.each(["in Node", "in a browser"])("%s", (where) => {
  function enter(): void {
    if (where === "in a browser") vi.stubGlobal("Buffer", undefined);
  }

  test("any bytes can be encoded and decoded", () => {
    enter();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        expect(fromBase64(toBase64(bytes))).toEqual(bytes);
        expect(fromLooseBase64(toBase64(bytes))).toEqual(bytes);
        expect(fromLooseBase64(toBase64URL(bytes))).toEqual(bytes);
      }),
    );
  });

  test("a view of a buffer is encoded without the rest, in chunks", () => {
    enter();
    const bytes = new Uint8Array(20_000).fill(255);

    expect(toBase64(bytes.subarray(1, 4))).toBe("////");
    expect(fromBase64(toBase64(bytes))).toEqual(bytes);
  });

  test("base64url has its own alphabet and no padding", () => {
    enter();

    expect(toBase64URL(new Uint8Array([251, 255, 191, 0]))).toBe("-_-_AA");
  });

  test("both alphabets are decoded", () => {
    enter();

    expect(fromBase64("+/+/")).toEqual(new Uint8Array([251, 255, 191]));
    expect(fromBase64("-_-_")).toEqual(new Uint8Array([251, 255, 191]));
    expect(fromLooseBase64("-_-_")).toEqual(new Uint8Array([251, 255, 191]));
  });

  test.each(["AA", "AA A", "AAA\n", "!AAA", "AAAA====", "=AAA"])("%j is refused by fromBase64", (text) => {
    enter();

    expect(fromBase64(text)).toBeUndefined();
  });

  test("padding and white space are optional for fromLooseBase64", () => {
    enter();

    expect(fromLooseBase64("AA")).toEqual(new Uint8Array([0]));
    expect(fromLooseBase64("AA AA\n")).toEqual(new Uint8Array([0, 0, 0]));
    expect(fromLooseBase64("AAAA!")).toBeUndefined();
    expect(fromLooseBase64("A")).toBeUndefined();
  });
});
