import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { collectLicenses } from "./build-command.ts";
import { root } from "./subpaths.ts";

const sources = join(root, "src/console");

/** What the client loads for other addresses than those of HTTP. The page has no use for it. */
const unusedWires = /client[\\/]over-(?:websocket|transport)\.ts$/;

/** What every view needs is one file, so that the first view has few requests. */
const common =
  /node_modules[\\/](?:preact|@preact)|src[\\/](?:client|internal|operation|transport)|console[\\/](?:app|ui)/;

/**
 * Builds the page of the console into a folder. Scripts and styles have the hash of their content in their names, so that
 * browsers keep them. The editor and other parts that are loaded on demand are chunks of their own.
 */
export async function buildConsole(folder = join(root, "dist/console")): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const bundle = await rolldown({
    cwd: root,
    input: { console: join(sources, "main.tsx") },
    platform: "browser",
    treeshake: { moduleSideEffects: false },
    plugins: [{ name: "only-http", load: (id) => (unusedWires.test(id) ? "export {};" : undefined) }],
    transform: { define: { __PACKAGE_VERSION__: '""' } },
  });
  const { output } = await bundle.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name]-[hash].js",
    chunkFileNames: "[name]-[hash].js",
    minify: { compress: true, mangle: true },
    codeSplitting: { groups: [{ name: "common", test: common }] },
  });
  await bundle.close();
  const chunks = output.filter((item) => item.type === "chunk");
  const script = chunks.find((chunk) => chunk.isEntry)!.fileName;
  const style = writeHashed(folder, "console.css", minifyStyles(readFileSync(join(sources, "console.css"), "utf8")));
  const icon = writeHashed(folder, "icon.svg", readFileSync(join(sources, "icon.svg"), "utf8"));
  const page = readFileSync(join(sources, "index.html"), "utf8");
  const files = { "main.js": script, "console.css": style, "icon.svg": icon };
  writeFileSync(
    join(folder, "index.html"),
    Object.entries(files).reduce((text, [name, built]) => text.replace(`"${name}"`, `"${built}"`), page),
  );
  writeFileSync(join(folder, "LICENSES.txt"), collectLicenses(chunks.flatMap((chunk) => chunk.moduleIds)));
}

function writeHashed(folder: string, name: string, content: string): string {
  const hash = createHash("sha256").update(content).digest("base64url").slice(0, 8);
  const built = name.replace(".", `-${hash}.`);
  writeFileSync(join(folder, built), content);
  return built;
}

function minifyStyles(css: string): string {
  return css
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/\s*\n\s*/g, "")
    .replace(/\s*([{};,])\s*/g, "$1");
}
