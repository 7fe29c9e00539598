import { configure, type LogRecord, reset } from "@logtape/logtape";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileSchema, FromSchema, type SchemaReport } from "./index.ts";
import { toLinearPattern } from "./linear-pattern.ts";

function linear(pattern: string): RegExp {
  const result = toLinearPattern(pattern);
  if ("unsupported" in result) throw new Error(`${pattern}: ${result.unsupported}`);
  return result.test;
}

const hostile = `${"a".repeat(40)}!`;

describe("toLinearPattern", () => {
  test.each(["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(a*)*b", "^([a-z]+)*!!$", "^(?:a?){40}a{40}$"])(
    "%s ends immediately on a string with catastrophic backtracking",
    (pattern) => {
      expect(linear(pattern).test(hostile.repeat(100))).toBe(false);
    },
  );

  test.each([
    "^[\\w-]+$",
    "^[\\w\\-.]+@(?:[\\w-]+\\.)+\\w{2,}$",
    "^(?<year>\\d{4})-(\\d{2})$",
    "(\\s|\\S)b",
    "^([\\s]|x)+$",
    "^[\\S-]+(a)?$",
    "(.)c",
    "^(\\p{Letter}|\\p{Nd})+$",
    "^(\\p{Script=Greek})+$",
    "(\\u0041|\\x42|\\u{43}|\\cJ|\\0)",
    "(\\uD83D\\uDE00)",
    "([[:alpha:]]|\\/)",
    "(a|[^])",
    "(a|[])",
    "^(a{2,3}|b{2})$",
    "(x{|})",
    "([\\b])",
    "\\b(foo|bar)\\b",
    "^(\\-|\\_|\\@)$",
    "^(?!a)[ab]+$",
    "^(?!a$)(?!b$)[a-c]*$",
    "^(?=.*a)(?=.*b).{2,}$",
    "^(?!(?:a|b)$).*",
    "(?!^a$)^[ab]",
    "^(?:(?!a)[ab]+|c(?!x)d?)$",
    "^((?!foo).)*$",
    "^(?!x)(?:(?!foo|bar)[^x])+$",
    "^[abc]*(?<!c)$",
    "^.*$(?<!foo)",
    "^(?!.*foo)(?!.*-$).*(?<!b)$",
    "^a(?!b)[a-c]*$",
    "^[ab]{2}(?!c)(?:[ab]|c)*$",
    "[a-c]*(?<![bc])a$",
    "(?<=a)(b|c)",
    "(a|b)(?=c)",
    "^(?!.*(?<!b)c$).*$",
    "^(?![\\s\\S]*\\n)x?",
    "^(?!(?!a)[ab]).",
  ])("%s matches the same strings as the native engine", (pattern) => {
    const native = toNative(pattern);
    const character = fc.constantFrom(
      ..."aAbBcCxX0159-_@./{}[]: \t\n\r\v\f\u00a0\u2028\ufeff\0\b",
      "αβ",
      "😀",
      "é",
      "foo",
      ":]",
    );

    fc.assert(
      fc.property(fc.array(character, { maxLength: 6 }), (characters) => {
        const text = characters.join("");
        expect(linear(pattern).test(text)).toBe(native.test(text));
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    ["(?=a+)a", "it uses lookarounds that cannot run in linear time, or flags"],
    ["(?<!a)b", "it uses lookarounds that cannot run in linear time, or flags"],
    ["^a+(?!b)c", "it uses lookarounds that cannot run in linear time, or flags"],
    ["^(?:(?!a)b)*c$", "it uses lookarounds that cannot run in linear time, or flags"],
    ["^(?:(?!$)[^a])*$", "it uses lookarounds that cannot run in linear time, or flags"],
    ["^(?!(a)\\1)b", "it uses a back reference"],
    ["(?:[a-z]{100}){10}".repeat(30), "its repetitions are too large to be compiled"],
    ["^(a)\\1$", "it uses a back reference"],
    ["(?<n>a)\\k<n>", "it uses a back reference"],
    ["(", "it is not a regular expression of ECMA-262"],
    ["(?P<n>a)", "it is not a regular expression of ECMA-262"],
    ["^(a){2,5000}$", "the linear-time engine does not support it"],
  ])("%s is not supported", (pattern, unsupported) => {
    expect(toLinearPattern(pattern)).toEqual({ unsupported });
  });
});

describe("patterns of foreign schemas", () => {
  test("run in linear time as pattern, as patternProperties and below references", () => {
    const compiled = compileSchema(
      FromSchema({
        $defs: { text: { pattern: "^(a+)+$" } },
        properties: { text: { $ref: "#/$defs/text" } },
        patternProperties: { "^(b+)+$": { type: "number" } },
        additionalProperties: { type: "string", pattern: "^(a+)+$" },
      }),
    );

    expect(compiled.check({ text: "aa", bb: 1, other: "a" })).toBe(true);
    expect(compiled.check({ text: hostile })).toBe(false);
    expect(compiled.check({ bb: "1" })).toBe(false);
    expect(compiled.check({ other: hostile })).toBe(false);
    expect(compiled.check({ [`${"b".repeat(40)}!`]: 1 })).toBe(false);
    expect(compiled.errors({ bb: "1" })).toEqual({
      errors: [{ path: "", message: 'property "bb" is invalid' }],
      total: 1,
    });
    expect(compiled.errors({ text: "b" })).toEqual({
      errors: [{ path: "/text", message: 'must match pattern "^(a+)+$"' }],
      total: 1,
    });
  });

  test("with lookarounds that can be expressed in linear time are enforced, as pattern and as patternProperties", () => {
    const reports: SchemaReport[] = [];
    const compiled = compileSchema(
      FromSchema(
        {
          properties: { id: { type: "string", pattern: "^(?!-)[a-z-]+(?<!-)$" } },
          patternProperties: { "^(?!id$)": { type: "number" } },
          additionalProperties: false,
        },
        { onReport: (report) => reports.push(report) },
      ),
    );

    const values = [{ id: "a-b" }, { id: "-a" }, { id: "a-" }, { other: 1 }, { other: "1" }];
    expect(values.map((value) => compiled.check(value))).toEqual([true, false, false, true, false]);
    expect(compiled.errors({ id: "-a" })).toEqual({
      errors: [{ path: "/id", message: 'must match pattern "^(?!-)[a-z-]+(?<!-)$"' }],
      total: 1,
    });
    expect(reports).toEqual([]);
  });

  test("may be long", () => {
    const words = Array.from({ length: 5_000 }, (_, index) => `word${index}`);
    const compiled = compileSchema(FromSchema({ pattern: `^(?:${words.join("|")})$` }));

    expect([compiled.check("word4999"), compiled.check("word5000")]).toEqual([true, false]);
  });

  test("with many repetitions are not run on strings that are too long for them", () => {
    const compiled = compileSchema(FromSchema({ pattern: "(?:\\p{L}{10}){100}".repeat(10) }));

    expect(compiled.errors("a".repeat(100_000))).toEqual({
      errors: [{ path: "", message: "could not be validated: the check takes too many steps" }],
      total: 1,
    });
    expect([compiled.check("a".repeat(2_000)), compiled.check("1".repeat(2_000))]).toEqual([false, false]);
  });

  test("are unchanged in the JSON", () => {
    const type = FromSchema({ pattern: "^(a+)+$" });

    compileSchema(type).check("a");

    expect(JSON.stringify(type)).toBe('{"pattern":"^(a+)+$"}');
  });

  test("that cannot be expressed are not enforced and are reported once, on the first use", () => {
    const reports: SchemaReport[] = [];
    const type = FromSchema(
      { properties: { a: { pattern: "a(?!x)" } }, patternProperties: { "(?!y)z": false }, additionalProperties: false },
      { onReport: (report) => reports.push(report) },
    );
    const before = reports.length;

    const answers = [{ a: "b" }, { z: 1 }, { a: "c" }].map((value) => compileSchema(type).check(value));

    expect({ before, answers }).toEqual({ before: 0, answers: [true, true, true] });
    expect(reports).toEqual([
      {
        pointer: "/properties/a/pattern",
        reason: "The pattern is not enforced: it uses lookarounds that cannot run in linear time, or flags.",
      },
      {
        pointer: "/patternProperties/(?!y)z",
        reason: "The pattern is not enforced: it uses lookarounds that cannot run in linear time, or flags.",
      },
    ]);
  });

  test("are reported as one warning in the log without onReport", async () => {
    const records: LogRecord[] = [];
    await configure({
      reset: true,
      sinks: { memory: (record) => records.push(record) },
      loggers: [
        { category: ["logtape", "meta"], sinks: [] },
        { category: ["alkdev", "operations"], sinks: ["memory"] },
      ],
    });

    const compiled = compileSchema(FromSchema({ pattern: "a(?!x)" }));
    compiled.check("a");
    compiled.check("b");
    await reset();

    expect(records.map(({ level, properties }) => ({ level, properties }))).toEqual([
      {
        level: "warning",
        properties: {
          pointer: "/pattern",
          reason: "The pattern is not enforced: it uses lookarounds that cannot run in linear time, or flags.",
        },
      },
    ]);
  });

  test("are refused where unevaluatedProperties depends on what they match", () => {
    const schema = { patternProperties: { "^(b+)+$": {} }, unevaluatedProperties: false };

    expect(() => compileSchema(FromSchema(schema)).check({})).toThrow("cannot be combined with unevaluatedProperties");
  });
});

function toNative(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return new RegExp(pattern);
  }
}
