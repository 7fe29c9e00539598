import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holdsInexact, inexactNumbersIn, isInexactText, noteUnsafeIntegers, parseExactly } from "./exact-json.ts";

/** Every number that lost digits, by its path. */
function lostIn(value: unknown, path = ""): Record<string, string | undefined> {
  if (!holdsInexact(value)) return {};
  const found = [...(inexactNumbersIn(value) ?? [])].map(([key, digits]) => [`${path}/${key}`, digits] as const);
  const below = Object.entries(value).flatMap(([key, held]) => Object.entries(lostIn(held, `${path}/${key}`)));
  return Object.fromEntries([...found, ...below]);
}

describe("parsing JSON exactly", () => {
  test.each<[string, Record<string, string>]>([
    ['{"id":9007199254740993}', { "/id": "9007199254740993" }],
    ['{ "id" : -9007199254740993 }', { "/id": "-9007199254740993" }],
    [
      '[1,[12345678901234567890],{"a":[9007199254740992]}]',
      { "/1/0": "12345678901234567890", "/2/a/0": "9007199254740992" },
    ],
    ['{"n":1e400,"m":-1E+400,"o":1.5e309}', { "/n": "1e400", "/m": "-1E+400", "/o": "1.5e309" }],
    ['{"id":9007199254740993,"id":1}', {}],
    ['{"__proto__":{"id":9007199254740993}}', { "/__proto__/id": "9007199254740993" }],
    ['{"a\\\\":"\\"9007199254740993","b":9007199254740993}', { "/b": "9007199254740993" }],
    ['{"a":"x: 9007199254740993, 1e400 ","b":9007199254740991}', {}],
    ['{"a":0.1234567890123456789,"b":1e300,"c":1e-400,"d":123456789012345.678}', {}],
    ['"9007199254740993"', {}],
  ])("%s", (text, lost) => {
    const value = parseExactly(text);

    expect(value).toEqual(JSON.parse(text));
    expect(lostIn(value)).toEqual(lost);
  });

  test("records a limited number of them", () => {
    const value = parseExactly(`[${"9007199254740993,".repeat(60_000)}1]`) as number[];

    expect(value).toHaveLength(60_001);
    expect(inexactNumbersIn(value)?.size).toBe(50_000);
  });

  test("refuses the same strings as JSON.parse", () => {
    for (const text of ["{9007199254740993:1}", "[9007199254740993", "9007199254740993.", '["9007199254740993]']) {
      expect(() => parseExactly(text)).toThrow(SyntaxError);
    }
  });

  test("returns the result of JSON.parse, with the digits of each number that lost digits", () => {
    const integer = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), integer)), (entries) => {
        const text = `[${entries.map(([key, number]) => `{${JSON.stringify(key)}: ${number}}`).join(" , ")}]`;
        const value = parseExactly(text) as unknown[];
        expect(value).toEqual(JSON.parse(text));
        entries.forEach(([key, number], index) => {
          const digits = holdsInexact(value[index]) ? inexactNumbersIn(value[index])?.get(key) : undefined;
          expect(digits).toBe(Number.isSafeInteger(Number(number)) ? undefined : String(number));
        });
      }),
    );
  });
});

test("a string that is one number is recognised", () => {
  expect(["9007199254740993", "-1e400", "42", "1e5", '"9007199254740993"', "{}"].map(isInexactText)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
});

test("integers beyond 2^53 are recorded in values without their JSON", () => {
  const value = { a: [1, 2 ** 53], b: { c: 1.5 }, d: Number.POSITIVE_INFINITY };

  expect(noteUnsafeIntegers(value)).toBe(true);

  expect(lostIn(value)).toEqual({ "/a/1": undefined, "/d": undefined });
  expect(holdsInexact(value.b)).toBe(false);
});
