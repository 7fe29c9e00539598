import { describe, expect, test } from "vitest";
import { compileSchema, createNormaliser, FromSchema, type FromSchemaOptions } from "./index.ts";

function answers(schema: unknown, values: unknown[], options: FromSchemaOptions = {}): boolean[] {
  const compiled = compileSchema(FromSchema(schema, options));
  return values.map((value) => compiled.check(value));
}

describe("given documents", () => {
  const thing = {
    $schema: "http://json-schema.org/draft-07/schema#",
    $id: "https://example.test/thing.json",
    $ref: "#/definitions/Thing",
    definitions: { Thing: { type: "object", required: ["name"] } },
  };

  test.each(["draft-04", "draft-06", "draft-07"])(
    "relative references of a %s root resolve against the $id beside its $ref",
    (draft) => {
      const root = {
        $schema: `http://json-schema.org/${draft}/schema#`,
        [draft === "draft-04" ? "id" : "$id"]: "https://example.test/schemas/action.json",
        $ref: "#/definitions/Action",
        definitions: { Action: { properties: { object: { $ref: "../thing.json" } } } },
      };
      const remotes = { "https://example.test/thing.json": thing };

      expect(answers(root, [{ object: { name: "a" } }, { object: {} }], { remotes })).toEqual([true, false]);
    },
  );

  test("the reference of such a root may resolve to another document", () => {
    const root = {
      $schema: "http://json-schema.org/draft-07/schema#",
      $id: "https://example.test/action.json",
      $ref: "thing.json",
    };

    expect(answers(root, [{ name: "a" }, {}], { remotes: { "https://example.test/thing.json": thing } })).toEqual([
      true,
      false,
    ]);
    expect(() => FromSchema(root)).toThrow('"thing.json" does not resolve');
  });

  test("the root's $id beside its $ref is in the JSON of the type", () => {
    expect(JSON.parse(JSON.stringify(FromSchema(thing)))).toEqual(thing);
  });

  test("are read in their own dialect", () => {
    const remotes = {
      "https://example.test/positive.json": {
        $schema: "http://json-schema.org/draft-04/schema#",
        minimum: 0,
        exclusiveMinimum: true,
      },
    };

    expect(answers({ $ref: "https://example.test/positive.json" }, [1, 0], { remotes })).toEqual([true, false]);
  });

  test("that are malformed are refused with their URI", () => {
    const remotes = { "https://example.test/bad.json": { properties: { a: { type: "strnig" } } } };

    expect(() => FromSchema({ $ref: "https://example.test/bad.json" }, { remotes })).toThrow(
      'the document "https://example.test/bad.json" cannot be used. Schema, at "/properties/a/type"',
    );
  });
});

describe("the published meta-schemas", () => {
  test.each([
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-04/schema",
    "https://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2020-12/schema#",
  ])("%s is built in", ($ref) => {
    const schema = { type: "object", properties: { schema: { $ref } }, required: ["schema"] };
    const values = [
      { type: "object", properties: { a: { type: ["string", "null"], minLength: 1 } } },
      { type: "strnig" },
      { properties: { a: { items: { minLength: -1 } } } },
      { multipleOf: 0 },
    ].map((value) => ({ schema: value }));

    expect(answers(schema, values)).toEqual([true, false, false, false]);
    expect(answers({ $ref }, [{ type: "string" }, { type: 1 }])).toEqual([true, false]);
  });

  test("parts and vocabularies of them can be referenced", () => {
    const draft7 = { $ref: "http://json-schema.org/draft-07/schema#/definitions/nonNegativeInteger" };
    const draft4 = { items: { $ref: "http://json-schema.org/draft-04/schema#/properties/title" } };
    const vocabulary = { $ref: "https://json-schema.org/draft/2020-12/meta/validation" };

    expect(answers(draft7, [0, -1])).toEqual([true, false]);
    expect(answers(draft4, [["a"], [1]])).toEqual([true, false]);
    expect(answers(vocabulary, [{ minLength: 1 }, { minLength: -1 }])).toEqual([true, false]);
  });

  test("can be extended through their dynamic anchor", () => {
    const extended = {
      $id: "https://example.test/extended",
      $dynamicAnchor: "meta",
      $ref: "https://json-schema.org/draft/2020-12/schema",
      properties: { unit: { type: "string" } },
    };

    expect(answers(extended, [{ items: { unit: "m" } }, { items: { unit: 1 } }])).toEqual([true, false]);
  });

  test("can be used for normalising", () => {
    const $ref = "http://json-schema.org/draft-07/schema#/definitions/nonNegativeInteger";
    const schema = { type: "object", properties: { count: { $ref } } };

    expect(createNormaliser(FromSchema(schema)).normalise({ count: "5", more: 1 })).toEqual({
      data: { count: 5 },
      drift: [
        { path: "/count", kind: "converted", message: "string to number" },
        { path: "/more", kind: "stripped", message: "not in the schema" },
      ],
    });
  });

  test("other URIs of the same host are unknown", () => {
    expect(() => FromSchema({ $ref: "http://json-schema.org/draft-04/hyper-schema#" })).toThrow("does not resolve");
    expect(() => FromSchema({ $ref: "https://json-schema.org/draft/2020-12/meta/unknown" })).toThrow(
      "does not resolve",
    );
  });
});
