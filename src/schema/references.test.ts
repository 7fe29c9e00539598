import { describe, expect, test } from "vitest";
import { RemoteDocuments, Resolver } from "./references.ts";

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
