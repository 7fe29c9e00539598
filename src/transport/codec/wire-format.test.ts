import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { decode } from "./decode.ts";
import { encode } from "./encode.ts";

const page = readFileSync(new URL("../../../docs/wire-format.md", import.meta.url), "utf8");
const start = page.indexOf("| value | text |");
const table = page.slice(start, page.indexOf("\n\n", start));
const rows = [...table.matchAll(/^\| `(.+?)` \| `(.+?)` \|$/gm)].map(([, source, text]) => ({
  source: source!,
  value: runInThisContext(`(${source})`) as unknown,
  text: `~{"type":"call.progressed","requestId":"r","progress":{"value":${text}}}`,
}));
const limits = { maxMessage: 1_000, jsonDepth: 20 };

describe("the table of the wire format", () => {
  test("has every row", () => {
    expect(rows).toHaveLength(20);
  });

  test.each(rows)("$source is written as documented", ({ value, text }) => {
    const frame = { type: "call.progressed", requestId: "r", progress: { value: [1n, value] } };

    const marked = text.replace('"value":', '"value":[["~bigint","1"],').replace(/}}$/, "]}}");

    expect(encode(frame, limits)).toBe(marked);
  });

  test.each(rows)("$source is read as documented", ({ value, text }) => {
    expect(decode(text, limits)).toStrictEqual({ type: "call.progressed", requestId: "r", progress: { value } });
  });
});
