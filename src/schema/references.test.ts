import { describe, expect, test } from "vitest";
import { createResolver, followPointer } from "./references.ts";
import { RemoteDocuments } from "./remote-documents.ts";

describe("followPointer", () => {
  test("unescapes ~0 and ~1 and indexes arrays", () => {
    const document = { "a/b": { "c~d": [1, 2] } };

    expect(followPointer(document, "/a~1b/c~0d/1")).toEqual({ schema: 2 });
  });

  test("finds only own properties", () => {
    expect(followPointer({}, "/__proto__")).toBeUndefined();
    expect(followPointer({}, "/constructor/name")).toBeUndefined();
    expect(followPointer([], "/length")).toBeUndefined();
  });
});

describe("createResolver", () => {
  test("resolves the root, pointers, escapes and anchors", () => {
    const root = {
      $defs: { "a/b%": { type: "string" }, named: { $anchor: "here", type: "number" } },
    };
    const { resolve } = createResolver(root);

    expect(resolve("#")?.schema).toBe(root);
    expect(resolve("#/$defs/a~1b%25")?.schema).toBe(root.$defs["a/b%"]);
    expect(resolve("#here")?.schema).toBe(root.$defs.named);
    expect(resolve("#nowhere")).toBeUndefined();
    expect(resolve("#/%E0%A4%A")).toBeUndefined();
    expect(resolve("#/__proto__")).toBeUndefined();
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
    const { resolve } = createResolver(root);

    expect(resolve("#/$defs/x")?.schema).toBe(root.$defs.x);
    expect(resolve("#/$defs/x", inner)?.schema).toBe(root.$defs.sub.$defs.x);
    expect(resolve("sub.json#/$defs/x")?.schema).toBe(root.$defs.sub.$defs.x);
    expect(resolve("https://example.test/other.json")).toBeUndefined();
  });

  test("resolves names of TypeBox's cyclic types", () => {
    const node = { $id: "Node", properties: { next: { $ref: "Node" } } };
    const { resolve } = createResolver({ $defs: { Node: node }, $ref: "Node" });

    expect(resolve("Node")?.schema).toBe(node);
    expect(resolve("Node", node.properties.next)?.schema).toBe(node);
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

    expect(createResolver(draft4).resolve("#a")?.schema).toBe(draft4.definitions.a);
    expect(createResolver(draft7).resolve("#a")?.schema).toBe(draft7.definitions.a);
  });

  test("resolves a dynamic reference unless the way through the document decides", () => {
    const tree = { $dynamicAnchor: "node", properties: { next: { $dynamicRef: "#node" } } };
    const ambiguous = { $id: "https://a.test/", $dynamicAnchor: "node", $defs: { tree: { $id: "tree", ...tree } } };

    expect(createResolver(tree).resolveDynamic("#node")?.schema).toBe(tree);
    expect(createResolver(ambiguous).resolveDynamic("#node")).toBeUndefined();
  });

  test("looks into given remote documents and nowhere else", () => {
    const remote = { $defs: { a: { type: "string" } } };
    const documents = new RemoteDocuments({ "https://example.test/remote.json": remote });
    const { resolve } = createResolver({}, { documents });

    expect(resolve("https://example.test/remote.json#/$defs/a")?.schema).toEqual(remote.$defs.a);
    expect(resolve("https://example.test/missing.json")).toBeUndefined();
  });

  test("ends on an object graph that is itself cyclic", () => {
    const root: Record<string, unknown> = {};
    root["properties"] = { self: root };

    expect(createResolver(root).resolve("#/properties/self/properties/self")?.schema).toBe(root);
  });
});
