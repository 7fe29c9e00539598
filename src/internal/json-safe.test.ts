import fc from "fast-check";
import { expect, test } from "vitest";
import { toJSONSafe } from "./json-safe.ts";

const circular: Record<string, unknown> = { name: "loop" };
circular["self"] = circular;

const boom = () => {
  throw new Error("boom");
};

test.each([
  ["plain data", { a: [1, "x", null, true] }, { a: [1, "x", null, true] }],
  ["bigint", { n: 12345678901234567890n }, { n: "12345678901234567890" }],
  [
    "values that JSON omits",
    { f: () => 1, s: Symbol("s"), u: undefined, list: [() => 1, undefined] },
    { list: [null, null] },
  ],
  ["numbers without JSON form", [Number.NaN, Number.POSITIVE_INFINITY, -0], [null, null, 0]],
  ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
  ["an invalid date", new Date(Number.NaN), null],
  ["an error without its stack", new TypeError("no"), { name: "TypeError", message: "no" }],
  [
    "an error with secrets in its toJSON",
    Object.assign(new Error("no"), { config: { token: "s3cret" }, toJSON: () => ({ token: "s3cret" }) }),
    { name: "Error", message: "no" },
  ],
  ["maps and sets", [new Map([["a", 1]]), new Set([1n])], [[["a", 1]], ["1"]]],
  ["boxed values", [Object(1), Object("a"), Object(true)], [1, "a", true]],
  ["a cycle", circular, { name: "loop", self: "[circular]" }],
  [
    "a throwing getter",
    {
      get a() {
        return boom();
      },
    },
    "[unreadable]",
  ],
  ["a throwing proxy inside", { inner: new Proxy({}, { get: boom, ownKeys: boom }) }, { inner: "[unreadable]" }],
  ["a throwing toJSON", { a: { toJSON: boom } }, { a: "[unreadable]" }],
  ["a typed array", new Uint8Array([1, 2]), { 0: 1, 1: 2 }],
])("%s", (_, value, expected) => {
  expect(toJSONSafe(value)).toEqual(expected);
});

test("the same object twice is not a cycle", () => {
  const shared = { a: 1 };

  expect(toJSONSafe([shared, shared])).toEqual([{ a: 1 }, { a: 1 }]);
});

test("__proto__ stays data", () => {
  const result = toJSONSafe(JSON.parse('{"__proto__":{"isAdmin":true}}')) as { isAdmin?: boolean };

  expect(result.isAdmin).toBeUndefined();
  expect(JSON.stringify(result)).toBe('{"__proto__":{"isAdmin":true}}');
});

test("depth and size are bounded", () => {
  let deep: unknown = 1;
  for (let i = 0; i < 20_000; i++) deep = [deep];
  const long = new Array(300_000).fill({ a: 1 });

  expect(JSON.stringify(toJSONSafe(deep))).toContain("[too deep]");
  expect((toJSONSafe(long) as unknown[]).length).toBeLessThanOrEqual(100_000);
});

test("the copy of any value survives a round trip through JSON", () => {
  fc.assert(
    fc.property(
      fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withNullPrototype: true }),
      (value) => {
        const safe = toJSONSafe(value);

        if (safe === undefined) return;
        expect(JSON.parse(JSON.stringify(safe))).toEqual(safe);
      },
    ),
  );
});

test("the copy of a JSON value is equal", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.stringify(toJSONSafe(value))).toBe(JSON.stringify(value));
    }),
  );
});
