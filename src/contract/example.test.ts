import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseOpenAPI } from "../from/openapi/index.ts";
import { FromOpenAPI } from "../index.ts";
import { compileSchema } from "../schema/index.ts";
import { createExample } from "./example.ts";

test("an example has required properties, and optional ones that have an example", () => {
  const example = createExample({
    type: "object",
    required: ["name", "kind", "when", "rank", "tags", "size", "owner", "either", "__proto__"],
    properties: {
      name: { type: "string", minLength: 6 },
      kind: { enum: ["a", "b"] },
      when: { type: ["null", "string"], format: "date" },
      rank: { type: "integer", exclusiveMinimum: 4, multipleOf: 10 },
      tags: { type: "array", items: { type: "string" }, minItems: 2 },
      size: { type: "array", prefixItems: [{ type: "number", maximum: 0 }, { type: "boolean" }] },
      owner: { $ref: "#/$defs/person" },
      either: { oneOf: [{ type: "object", properties: { a: { const: 1 } }, required: ["a"] }, { type: "null" }] },
      optional: { type: "string" },
      shown: { type: "string", examples: ["x"] },
    },
    $defs: {
      person: {
        allOf: [
          { properties: { id: { default: 7 } }, required: ["id"] },
          { required: ["boss"], properties: { boss: { $ref: "#/$defs/person" } } },
        ],
      },
    },
  });

  expect(example).toMatchObject({
    name: "namexx",
    kind: "a",
    when: "2026-01-31",
    rank: 10,
    tags: ["tags", "tags"],
    size: [0, true],
    owner: { id: 7, boss: { id: 7 } },
    either: { a: 1 },
    shown: "x",
  });
  expect(Object.keys(example as object)).not.toContain("optional");
});

test("the examples of large documents are valid inputs, except where a pattern is required", async () => {
  const results = await Promise.all(
    ["spotify.yaml", "mastodon.yaml", "twilio-verify.json", "google-drive.yaml"].map(async (file) => {
      const text = readFileSync(new URL(`../../test/fixtures/openapi/${file}`, import.meta.url), "utf8");
      const config = { namespace: "api", baseUrl: "https://example.com", onReport() {} };
      const operations = FromOpenAPI(await parseOpenAPI(text), config);
      const invalid = operations.filter(({ inputSchema }) => {
        const usesPattern = JSON.stringify(inputSchema).includes('"pattern"');
        return !usesPattern && !compileSchema(inputSchema).check(createExample(inputSchema));
      });
      return invalid.map(({ name }) => name);
    }),
  );

  expect(results).toEqual([[], [], [], []]);
});
