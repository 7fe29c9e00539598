import { expect, test } from "vitest";
import { importOpenAPI } from "./import-openapi.ts";
import { parseOpenAPI } from "./parse.ts";

test("JSON and YAML, also with a byte order mark, give the same document", async () => {
  const json = await parseOpenAPI('\ufeff{"openapi": "3.1.0", "paths": {}}');
  const yaml = await parseOpenAPI('openapi: "3.1.0"\npaths: {}\n');

  expect(json).toEqual({ openapi: "3.1.0", paths: {} });
  expect(yaml).toEqual(json);
});

test("YAML merge keys, aliases and repeated keys are read as their authors meant", async () => {
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

  expect(() => importOpenAPI(spec, { namespace: "deep" })).toThrow(
    expect.objectContaining({ code: "LIMIT_EXCEEDED", details: { limit: "jsonDepth" } }),
  );
});

test.each([
  ["", "it is no object"],
  ["[]", "it is no object"],
  ["a: 1\n---\nb: 2", "it holds several YAML documents"],
  ["a: [1", "Flow sequence"],
  ['{"openapi": "3.1.0",\n  "paths": {}\n  "info": 1}', "at line 3, column 3"],
  ['{"openapi": "3.1.0",\n  "paths": {', "JSON"],
  ['{"a":'.repeat(100_000), "JSON"],
])("%j is no document", async (text, reason) => {
  await expect(parseOpenAPI(text)).rejects.toMatchObject({
    code: "VALIDATION_ERROR",
    message: expect.stringContaining(reason),
  });
});
