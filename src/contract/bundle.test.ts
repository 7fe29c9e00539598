import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";

/** In bytes, minified and compressed. */
const maxBytes = 12_000;

test("a page bundles signature, example, form and lock without TypeBox and without modules of Node", async () => {
  const build = await rolldown({
    input: fileURLToPath(new URL("index.ts", import.meta.url)),
    platform: "browser",
    logLevel: "silent",
  });
  const { output } = await build.generate({ format: "esm", minify: true });
  await build.close();
  const chunks = output.filter((item) => item.type === "chunk");

  expect(chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports])).toEqual([]);
  expect(chunks.flatMap(({ moduleIds }) => moduleIds).filter((id) => id.includes("node_modules"))).toEqual([]);
  expect(gzipSync(chunks.map(({ code }) => code).join(""), { level: 9 }).length).toBeLessThan(maxBytes);
});
