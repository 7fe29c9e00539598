import { expect, test } from "vitest";
import { FromOpenAPI } from "./from-openapi.ts";
import { parseOpenAPI } from "./parse.ts";

test("JSON and YAML, also with a byte order mark, are read as the same document", async () => {
  const json = await parseOpenAPI('\ufeff{"openapi": "3.1.0", "paths": {}}');
  const yaml = await parseOpenAPI('openapi: "3.1.0"\npaths: {}\n');

  expect(json).toEqual({ openapi: "3.1.0", paths: {} });
  expect(yaml).toEqual(json);
});

test("YAML merge keys, aliases and repeated keys are supported", async () => {
  const document = await parseOpenAPI("base: &base { a: 1 }\nmerged:\n  <<: *base\n  b: 2\ntwice: 1\ntwice: 2\n");

  expect(document).toEqual({ base: { a: 1 }, merged: { a: 1, b: 2 }, twice: 2 });
});

test("__proto__ in YAML is a key like any other", async () => {
  const document = await parseOpenAPI("__proto__: { polluted: true }");

  expect(Object.keys(document)).toEqual(["__proto__"]);
  expect("polluted" in {}).toBe(false);
});

test("a document over the size limit is refused before it is parsed", async () => {
  await expect(parseOpenAPI("x".repeat(101), { documentBytes: 100 })).rejects.toMatchObject({
    code: "LIMIT_EXCEEDED",
    details: { limit: "documentBytes" },
  });
  await expect(parseOpenAPI('{"a":1}', { documentBytes: 7 })).resolves.toEqual({ a: 1 });
  await expect(parseOpenAPI('{"ä":1}', { documentBytes: 7 })).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
  await expect(parseOpenAPI('{"ä":1}', { documentBytes: 8 })).resolves.toEqual({ ä: 1 });
});

test("aliases that multiply each other are refused", async () => {
  const letters = "abcdefghi";
  const lines = [...letters].map((letter, index) => {
    const items = index === 0 ? "x" : `*${letters[index - 1]}`;
    return `${letter}: &${letter} [${Array(9).fill(items).join(",")}]`;
  });

  await expect(parseOpenAPI(lines.join("\n"))).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
});

const lines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => line(i)).join("");

test.each([
  ["aliases of many anchors", lines(5_000, (i) => `k${i}: &a${i} 1\nm${i}: *a${i}\n`), "aliases"],
  ["aliases of one anchor", `x: &x 1\n${lines(9_000, (i) => `k${i}: *x\n`)}`, "aliases"],
  [
    "a wide map that is merged often",
    `x: &x {${lines(2_000, (i) => `a${i}: 1, `)}}\n${lines(500, (i) => `k${i}:\n  <<: *x\n`)}`,
    "merge keys",
  ],
  [
    "a large value that is merged often",
    `x: &x {a: [${lines(2_000, () => "1, ")}]}\n${lines(500, (i) => `k${i}:\n  <<: *x\n`)}`,
    "merge keys",
  ],
  [
    "a list of merges",
    `x: &x {a: [${lines(2_000, () => "1, ")}]}\ny:\n  <<: [${lines(500, () => "*x, ")}]\n`,
    "merge keys",
  ],
  [
    "maps that each merge the one before",
    `a0: &a0 {k: 1}\n${lines(2_000, (i) => `a${i + 1}: &a${i + 1} {<<: *a${i}, k${i}: 1}\n`)}`,
    "merge keys",
  ],
])("YAML that costs far more than its size is refused: %s", async (_name, text, reason) => {
  await expect(parseOpenAPI(text)).rejects.toMatchObject({
    code: "LIMIT_EXCEEDED",
    message: expect.stringContaining(reason),
  });
});

test.each(["", "%YAML 1.1\n---\n"])("YAML tags that JSON does not have are ignored, after %j", async (head) => {
  const text = `${head}a: !!omap [{ k: 1 }]\nb: !!set { k }\nc: !!pairs [{ k: 1 }]\nd: !!binary QUJD\ne: 2020-01-01\n`;

  expect(await parseOpenAPI(text)).toEqual({
    a: [{ k: 1 }],
    b: { k: null },
    c: [{ k: 1 }],
    d: "QUJD",
    e: "2020-01-01",
  });
});

test("an ordered map of 40,000 entries is read like any list", async () => {
  const text = `a: !!omap\n${lines(40_000, (i) => `- k${i}: 1\n`)}`;

  const { a } = (await parseOpenAPI(text)) as { a: unknown[] };

  expect(a).toHaveLength(40_000);
  expect(a.at(-1)).toEqual({ k39999: 1 });
});

test.each([
  ["flow YAML", "[".repeat(5_000)],
  ["much flow YAML", `a: ${"[".repeat(100_000)}`],
  ["block YAML", Array.from({ length: 5_000 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n")],
  ["a line of dashes", "- ".repeat(100_000)],
  ["a line of question marks", "? ".repeat(100_000)],
  ["broken flow YAML", "{a: ".repeat(100_000)],
])("%s nested without end is refused", async (_name, text) => {
  await expect(parseOpenAPI(text)).rejects.toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "jsonDepth" } });
});

test.each([5_000, 100_000])("JSON nested %i deep is refused on import", async (depth) => {
  const spec = await parseOpenAPI(`{"openapi":"3.1.0","x":${'{"a":'.repeat(depth)}1${"}".repeat(depth)}}`);

  expect(() => FromOpenAPI(spec, { namespace: "deep" })).toThrow(
    expect.objectContaining({ code: "LIMIT_EXCEEDED", details: { limit: "jsonDepth" } }),
  );
});

test.each([
  ["", "it is not an object"],
  ["[]", "it is not an object"],
  ["a: 1\n---\nb: 2", "it contains several YAML documents"],
  ["a: [1", "Flow sequence"],
  ["a: *b\nb: &b 1\n", 'no anchor "b" is defined before its alias'],
  ["a: &a\n  <<: *a\n", '"a" in it merges itself'],
  ["? [a, b]\n: 1\n", "a key in it is not a string"],
  ["a: &a [b]\n*a : 1\n", "a key in it is not a string"],
  ['{"openapi": "3.1.0",\n  "paths": {}\n  "info": 1}', "at line 3, column 3"],
  ['{"openapi": "3.1.0",\n  "paths": {', "JSON"],
  ['{"a":'.repeat(100_000), "JSON"],
])("%j is not a document", async (text, reason) => {
  await expect(parseOpenAPI(text)).rejects.toMatchObject({
    code: "VALIDATION_ERROR",
    message: expect.stringContaining(reason),
  });
});
