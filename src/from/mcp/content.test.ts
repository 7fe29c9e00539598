import fc from "fast-check";
import { expect, test } from "vitest";
import { MCPContentBlockSchema } from "../../operation/index.ts";
import { collectErrors } from "../../schema/index.ts";
import { mapMCPContentBlocks } from "./content.ts";

test("every type of block is converted field by field", () => {
  const annotations = { audience: ["user", "assistant"], priority: 0.5, lastModified: "2026-01-01T00:00:00Z" };
  const blocks = [
    { type: "text", text: "hello", annotations },
    { type: "text", text: "" },
    { type: "image", data: "aGk=", mimeType: "image/png", annotations },
    { type: "audio", data: "aGk=", mimeType: "audio/wav" },
    { type: "resource", resource: { uri: "file:///a", mimeType: "text/plain", text: "a" }, annotations },
    { type: "resource", resource: { uri: "file:///b", blob: "aGk=" } },
    { type: "resource_link", uri: "file:///c", name: "c", description: "C", mimeType: "text/plain" },
    { type: "resource_link", uri: "file:///d", name: "d" },
  ];

  expect(mapMCPContentBlocks(blocks)).toEqual(blocks);
});

test("unknown fields are dropped", () => {
  const blocks = [
    { type: "text", text: "a", extra: 1, _meta: { b: 2 } },
    { type: "resource_link", uri: "x:1", name: "n", size: 3, title: "N" },
    { type: "image", data: "", mimeType: "", annotations: { audience: ["user", "stranger"], priority: "high", x: 1 } },
  ];

  expect(mapMCPContentBlocks(blocks)).toEqual([
    { type: "text", text: "a" },
    { type: "resource_link", uri: "x:1", name: "n" },
    { type: "image", data: "", mimeType: "", annotations: { audience: ["user"] } },
  ]);
});

test.each([
  [{ type: "video", data: "aGk=" }],
  [{ type: "text" }],
  [{ type: "text", text: 1 }],
  [{ type: "image", data: "aGk=" }],
  [{ type: "audio", mimeType: "audio/wav" }],
  [{ type: "resource" }],
  [{ type: "resource", resource: { uri: "x:1" } }],
  [{ type: "resource", resource: { text: "no uri" } }],
  [{ type: "resource_link", uri: "x:1" }],
  [{ text: "no type" }],
  [{ type: "constructor" }],
  [["text"]],
  ["text"],
  [7],
  [null],
])("%j is kept as text", (block) => {
  expect(mapMCPContentBlocks([block])).toEqual([{ type: "text", text: JSON.stringify(block) }]);
});

test("blocks that JSON cannot represent become text as far as possible", () => {
  const cyclic: Record<string, unknown> = { type: "unusual" };
  cyclic["self"] = cyclic;
  const throwing = {
    get type(): string {
      throw new Error("no");
    },
  };

  expect(mapMCPContentBlocks([cyclic, throwing, { type: "unusual", big: 1n }, undefined])).toEqual([
    { type: "text", text: '{"type":"unusual","self":"[circular]"}' },
    { type: "text", text: '"[unreadable]"' },
    { type: "text", text: '{"type":"unusual","big":"1"}' },
    { type: "text", text: "null" },
  ]);
});

test("blocks that are nested too deeply for JSON become text", () => {
  let deep: unknown = "end";
  for (let level = 0; level < 100_000; level++) deep = [deep];

  const [block] = mapMCPContentBlocks([{ type: "deep", deep }]);

  expect(block).toMatchObject({ type: "text", text: expect.stringContaining("[too deep]") });
});

test.each([[undefined], [null], ["text"], [{ 0: { type: "text", text: "a" }, length: 1 }]])(
  "%j instead of a list has no blocks",
  (blocks) => {
    expect(mapMCPContentBlocks(blocks)).toEqual([]);
  },
);

test("every result matches the schema of content blocks", () => {
  const kind = fc.constantFrom("text", "image", "audio", "resource", "resource_link", "other");
  const part = fc.oneof(fc.string(), fc.jsonValue());
  const resource = fc.record({ uri: part, text: part, blob: part, mimeType: part }, { requiredKeys: [] });
  const annotations = fc.record({ audience: part, priority: part, lastModified: part }, { requiredKeys: [] });
  const block = fc.record(
    { type: kind, text: part, data: part, mimeType: part, uri: part, name: part, resource, annotations },
    { requiredKeys: ["type"] },
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(block, fc.anything())), (blocks) => {
      const mapped = mapMCPContentBlocks(blocks);

      expect(mapped.length).toBe(blocks.length);
      expect(mapped.flatMap((one) => collectErrors(MCPContentBlockSchema, one))).toEqual([]);
    }),
  );
});
