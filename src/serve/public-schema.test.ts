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

  test("writes tuples of TypeBox as 2020-12 has them, but keeps those of a declared dialect", () => {
    expect(written(Type.Tuple([Type.String()]))).toEqual({
      type: "array",
      prefixItems: [{ type: "string" }],
      items: false,
      minItems: 1,
    });
    const older = { $schema: "http://json-schema.org/draft-07/schema#", items: [{ type: "string" }] };
    expect(written(older)).toEqual(older);
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

  test("keeps anchors of a schema that is the whole document", () => {
    const schema = { properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { $anchor: "a", type: "null" } } };
    expect(written(schema)).toEqual(schema);
    expect(written(schema, "/at")).toEqual({
      properties: { a: { $ref: "#/at/$defs/a" } },
      $defs: { a: { type: "null" } },
    });
  });

  test("drops references to other documents", () => {
    const schema = { properties: { any: { $ref: "http://json-schema.org/draft-07/schema#" }, lost: { $ref: "#/no" } } };
    expect(written(schema)).toEqual({ properties: { any: {}, lost: { $ref: "#/no" } } });
  });

  test("keeps ids and references that depend on the path of the evaluation", () => {
    const schema = {
      $id: "https://example.com/tree",
      $dynamicAnchor: "node",
      properties: { next: { $dynamicRef: "#node" } },
    };
    expect(written(schema)).toEqual(schema);
  });
});
