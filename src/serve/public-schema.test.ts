import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { FromSchema } from "../schema/index.ts";
import { toPublicSchema } from "./public-schema.ts";

const written = (schema: unknown, location?: string): unknown =>
  JSON.parse(JSON.stringify(toPublicSchema(schema, location)));

describe("toPublicSchema", () => {
  test("keeps JSON Schema as it is", () => {
    const schema = {
      type: "object",
      title: "Task",
      properties: { $id: { type: "string" }, type: { type: ["string", "null"], default: { $ref: "#" } } },
      required: ["type"],
      additionalProperties: false,
    };
    expect(written(schema)).toEqual(schema);
    expect(written(FromSchema(schema))).toEqual(schema);
    expect(written(Type.Unknown())).toEqual({});
    expect(written(true)).toEqual({});
    expect(written(false)).toEqual({ not: {} });
  });

  test("writes keywords of older dialects and of OpenAPI 3.0 as 2020-12 has them", () => {
    expect(written(Type.Tuple([Type.String()]))).toEqual({
      type: "array",
      prefixItems: [{ type: "string" }],
      items: false,
      minItems: 1,
    });
    const older = {
      $schema: "http://json-schema.org/draft-04/schema#",
      id: "https://example.com/older",
      items: [{ $ref: "#/items/1" }, { type: "number", minimum: 1, exclusiveMinimum: true }],
    };
    expect(written(older)).toEqual({
      prefixItems: [{ $ref: "#/prefixItems/1" }, { type: "number", exclusiveMinimum: 1 }],
    });
    expect(written({ type: "string", nullable: true })).toEqual({ type: ["string", "null"], nullable: true });
  });

  test("accepts every value where a type has no JSON", () => {
    const schema = Type.Object({
      big: Type.BigInt({ description: "Digits" }),
      maybe: Type.Union([Type.String(), Type.Undefined()]),
      nothing: Type.Void(),
    });
    expect(written(schema)).toMatchObject({
      properties: { big: { description: "Digits" }, maybe: { anyOf: [{ type: "string" }] }, nothing: {} },
    });
    expect(written(Type.Undefined())).toEqual({});
  });

  test("replaces ids by pointers from the place of the schema", () => {
    const list = Type.Cyclic(
      { Node: Type.Object({ value: Type.Number(), next: Type.Optional(Type.Ref("Node")) }) },
      "Node",
    );
    expect(written(list, "/properties/input")).toEqual({
      $ref: "#/properties/input/$defs/Node",
      $defs: {
        Node: {
          type: "object",
          required: ["value"],
          properties: { value: { type: "number" }, next: { $ref: "#/properties/input/$defs/Node" } },
        },
      },
    });
    const tree = {
      $id: "https://example.com/tree",
      type: "object",
      properties: { all: { $ref: "#" }, name: { $ref: "tree#/$defs/name" }, leaf: { $ref: "#leaf" } },
      $defs: { name: { type: "string" }, leaf: { $anchor: "leaf", type: "null" } },
    };
    expect(written(tree)).toEqual({
      type: "object",
      properties: { all: { $ref: "#" }, name: { $ref: "#/$defs/name" }, leaf: { $ref: "#/$defs/leaf" } },
      $defs: { name: { type: "string" }, leaf: { type: "null" } },
    });
  });

  test("keeps the dialect 2020-12 and anchors of a schema that is the whole document", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      properties: { a: { $ref: "#/$defs/a" } },
      $defs: { a: { $anchor: "a", type: "null" } },
    };
    expect(written(schema)).toEqual(schema);
    expect(written(schema, "/at")).toEqual({
      properties: { a: { $ref: "#/at/$defs/a" } },
      $defs: { a: { type: "null" } },
    });
  });

  test("drops references to other documents", () => {
    const schema = { properties: { any: { $ref: "http://json-schema.org/draft-07/schema#" }, lost: { $ref: "#/no" } } };
    expect(written(schema)).toEqual({ properties: { any: {}, lost: {} } });
  });

  test("defines the targets of references that pointers of JSON Schema do not reach", () => {
    const schema = {
      properties: { own: { $ref: "#/parts/a" }, named: { $ref: "#named" }, no: { $ref: "#/$defs/no" } },
      parts: { a: { items: { $ref: "#/parts/a" } } },
      $defs: { "\ud800": { $anchor: "named", type: "null" }, no: false },
    };
    expect(written(schema, "/at")).toMatchObject({
      properties: { own: { $ref: "#/at/$defs/part" }, named: { $ref: "#/at/$defs/part_" }, no: { not: {} } },
      $defs: { part: { items: { $ref: "#/at/$defs/part" } }, part_: { type: "null" } },
    });
  });

  test("replaces references whose target is the same for every path of the evaluation, and drops others", () => {
    const tree = { $dynamicAnchor: "node", properties: { next: { $dynamicRef: "#node" } } };
    expect(written(tree, "/at")).toEqual({ properties: { next: { $ref: "#/at" } } });
    const either = { ...tree, $defs: { other: { $id: "other", $dynamicAnchor: "node" } } };
    expect(written(either)).toEqual({ properties: { next: {} }, $defs: { other: {} } });
    const recursive = { $recursiveAnchor: true, items: { $recursiveRef: "#" } };
    expect(written(recursive)).toEqual({ items: { $ref: "#" } });
  });

  test("accepts every value in place of a malformed schema", () => {
    expect(written({ type: "file" })).toEqual({});
    expect(written({ properties: null })).toEqual({});
  });
});
