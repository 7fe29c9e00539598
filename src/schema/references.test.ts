import { describe, expect, test } from "vitest";
import { compileSchema, FromSchema, SchemaError } from "./index.ts";
import { RemoteDocuments, Resolver } from "./references.ts";
import { accepts, deepFreeze, errorOf } from "./testing.ts";

describe("a resolver", () => {
  test("resolves the root, pointers, escapes and anchors", () => {
    const root = {
      $defs: { "a/b%": { type: "string" }, named: { $anchor: "here", type: "number" } },
    };
    const resolver = new Resolver(root);

    expect(resolver.resolve("#")).toBe(root);
    expect(resolver.resolve("#/$defs/a~1b%25")).toBe(root.$defs["a/b%"]);
    expect(resolver.resolve("#here")).toBe(root.$defs.named);
    expect(resolver.resolve("#nowhere")).toBeUndefined();
    expect(resolver.resolve("#/%E0%A4%A")).toBeUndefined();
    expect(resolver.resolve("#/__proto__")).toBeUndefined();
  });

  test("resolves against the $id that encloses the reference", () => {
    const inner = { $ref: "#/$defs/x" };
    const root = {
      $id: "https://example.test/root.json",
      $defs: {
        x: { type: "string" },
        sub: { $id: "sub.json", $defs: { x: { type: "number" } }, properties: { inner } },
      },
    };
    const resolver = new Resolver(root);

    expect(resolver.resolve("#/$defs/x")).toBe(root.$defs.x);
    expect(resolver.resolve("#/$defs/x", inner)).toBe(root.$defs.sub.$defs.x);
    expect(resolver.resolve("sub.json#/$defs/x")).toBe(root.$defs.sub.$defs.x);
    expect(resolver.resolve("https://example.test/other.json")).toBeUndefined();
  });

  test("resolves names of TypeBox's cyclic types", () => {
    const node = { $id: "Node", properties: { next: { $ref: "Node" } } };
    const resolver = new Resolver({ $defs: { Node: node }, $ref: "Node" });

    expect(resolver.resolve("Node")).toBe(node);
    expect(resolver.resolve("Node", node.properties.next)).toBe(node);
  });

  test("reads the names of draft 4 and of draft 7", () => {
    const draft4 = {
      $schema: "http://json-schema.org/draft-04/schema#",
      definitions: { a: { id: "#a", type: "null" } },
    };
    const draft7 = {
      $schema: "http://json-schema.org/draft-07/schema#",
      definitions: { a: { $id: "#a", type: "null" } },
    };

    expect(new Resolver(draft4).resolve("#a")).toBe(draft4.definitions.a);
    expect(new Resolver(draft7).resolve("#a")).toBe(draft7.definitions.a);
  });

  test("resolves a dynamic reference unless its target depends on the evaluation path", () => {
    const tree = { $dynamicAnchor: "node", properties: { next: { $dynamicRef: "#node" } } };
    const ambiguous = { $id: "https://a.test/", $dynamicAnchor: "node", $defs: { tree: { $id: "tree", ...tree } } };

    expect(new Resolver(tree).resolveDynamic("#node")).toBe(tree);
    expect(new Resolver(ambiguous).resolveDynamic("#node")).toBeUndefined();
  });

  test("finds given remote documents and no others", () => {
    const remote = { $defs: { a: { type: "string" } } };
    const documents = new RemoteDocuments({ "https://example.test/remote.json": remote });
    const resolver = new Resolver({}, { documents });

    expect(resolver.resolve("https://example.test/remote.json#/$defs/a")).toEqual(remote.$defs.a);
    expect(resolver.resolve("https://example.test/missing.json")).toBeUndefined();
  });

  test("terminates on a cyclic object graph", () => {
    const root: Record<string, unknown> = {};
    root["properties"] = { self: root };

    expect(new Resolver(root).resolve("#/properties/self/properties/self")).toBe(root);
  });
});

describe("references of a converted schema", () => {
  test("stay references, also where they are recursive", () => {
    const schema = {
      $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } }, additionalProperties: false } },
      $ref: "#/$defs/node",
    };

    expect(accepts(schema, [{ next: { next: {} } }, { next: { other: 1 } }])).toEqual([true, false]);
    expect(JSON.stringify(FromSchema(schema))).toBe(JSON.stringify(schema));
  });

  test("resolve to anchors, ids, and definitions with inherited names", () => {
    const schema = {
      $id: "https://example.test/root",
      $defs: {
        a: { $anchor: "text", type: "string" },
        b: { $id: "number", type: "number" },
        constructor: { type: "boolean" },
      },
      prefixItems: [{ $ref: "#text" }, { $ref: "number" }, { $ref: "#/$defs/constructor" }],
    };
    const check = (value: unknown) => compileSchema(FromSchema(schema)).check(value);

    expect([check(["", 1, true]), check([1]), check(["", ""]), check(["", 1, 1])]).toEqual([true, false, false, false]);
  });

  test("follow a $dynamicRef to the outermost anchor", () => {
    const schema = {
      $id: "https://example.test/strict-tree",
      $dynamicAnchor: "node",
      $ref: "tree",
      unevaluatedProperties: false,
      $defs: {
        tree: {
          $id: "https://example.test/tree",
          $dynamicAnchor: "node",
          properties: { children: { items: { $dynamicRef: "#node" } }, label: { pattern: "^(a+)+$" } },
        },
      },
    };
    const compiled = compileSchema(FromSchema(schema));

    expect(compiled.check({ children: [{ label: "aa" }] })).toBe(true);
    expect(compiled.check({ children: [{ labels: "aa" }] })).toBe(false);
    expect(compiled.check({ children: [{ label: `${"a".repeat(40)}!` }] })).toBe(false);
  });

  test("make keywords beside them ineffective up to draft 7", () => {
    const schema = { definitions: { a: { type: "string" } }, $ref: "#/definitions/a", maxLength: 1 };
    const $schema = "http://json-schema.org/draft-07/schema#";

    expect(accepts({ ...schema, $schema }, ["long"])).toEqual([true]);
    expect(accepts(schema, ["long"])).toEqual([false]);
  });

  test("resolve to schemas below unknown keywords, which are converted as well", () => {
    const name = { type: "string", nullable: true };
    const schema = deepFreeze({
      properties: { a: { $ref: "#/components/schemas/Named" } },
      components: { schemas: { Named: { properties: { name: { $ref: "#/components/schemas/Name" } } }, Name: name } },
    });

    expect(accepts(schema, [{ a: { name: null } }, { a: { name: 1 } }])).toEqual([true, false]);
    expect(name).toEqual({ type: "string", nullable: true });
  });

  test("resolve to ids of draft 4, also after a round trip through JSON", () => {
    const $schema = "http://json-schema.org/draft-04/schema#";
    const definitions = { b: { id: "b", type: "string" } };
    const root = { $schema, id: "http://example.test/a", definitions, items: { $ref: "b" } };

    expect(accepts(root, [[""], [1]])).toEqual([true, false]);
    expect(accepts(JSON.parse(JSON.stringify(FromSchema(root))), [[""], [1]])).toEqual([true, false]);
  });

  test("keep the given dialect, also after a round trip through JSON", () => {
    const type = FromSchema(
      { definitions: { a: {} }, $ref: "#/definitions/a", type: "string" },
      { dialect: "draft-07" },
    );

    expect(compileSchema(type).check(1)).toBe(true);
    expect(compileSchema(JSON.parse(JSON.stringify(type))).check(1)).toBe(true);
  });

  test("form chains of 5,000", () => {
    const $defs: Record<string, unknown> = { last: { type: "string" } };
    for (let index = 0; index < 5_000; index += 1)
      $defs[index] = { $ref: `#/$defs/${index === 4_999 ? "last" : index + 1}` };
    const compiled = compileSchema(FromSchema({ $defs, $ref: "#/$defs/0" }));

    expect([compiled.check(""), compiled.check(1)]).toEqual([true, false]);
  });

  test("are refused on first use if they only refer to themselves", () => {
    const compiled = compileSchema(
      FromSchema({ $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" }),
    );

    expect(() => compiled.check(1)).toThrow(SchemaError);
  });

  test.each([
    "https://example.test/other.json",
    "file:///etc/passwd",
    "./other.json",
    "#/$defs/missing",
    "#/__proto__",
    "#/constructor",
    "http://[",
  ])("are refused if they do not resolve: %s", ($ref) => {
    const error = errorOf({ properties: { a: { $ref } } });

    expect(error.pointer).toBe("/properties/a/$ref");
    expect(error.message).toContain("does not resolve to a schema in this document. Nothing is fetched");
  });

  test("resolve to given documents", () => {
    const type = FromSchema(
      { $ref: "https://example.test/name.json" },
      { remotes: { "https://example.test/name.json": { type: "string" } } },
    );

    expect([compileSchema(type).check(""), compileSchema(type).check(1)]).toEqual([true, false]);
  });
});
