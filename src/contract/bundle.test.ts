import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";

const entry = fileURLToPath(new URL("index.ts", import.meta.url));
/** What the page of a hub needs: forms, examples and signatures. */
const page =
  "choiceOf, createExample, fieldKindOf, fieldsIn, labelsOf, openForm, parseNumber, printSignature, startValueOf, writeDraft";

/** Maximum sizes in bytes, minified and compressed. */
test.each([
  ["everything", "*", 10_400],
  ["what a page needs", `{ ${page} }`, 8_100],
])("%s bundles for browsers without TypeBox and without modules of Node", async (_title, names, maxBytes) => {
  const build = await rolldown({
    input: "page",
    platform: "browser",
    logLevel: "silent",
    plugins: [
      {
        name: "page",
        resolveId: (id) => (id === "page" ? id : undefined),
        load: (id) => (id === "page" ? `export ${names} from ${JSON.stringify(entry)};` : undefined),
      },
    ],
  });
  const { output } = await build.generate({ format: "esm", minify: true });
  await build.close();
  const chunks = output.filter((item) => item.type === "chunk");

  expect(chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports])).toEqual([]);
  expect(chunks.flatMap(({ moduleIds }) => moduleIds).filter((id) => id.includes("node_modules"))).toEqual([]);
  expect(gzipSync(chunks.map(({ code }) => code).join(""), { level: 9 }).length).toBeLessThan(maxBytes);
});
