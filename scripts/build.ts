/**
 * Builds `dist/`: declarations with one file per module, and code bundled per sub-path with shared chunks. Importing
 * two hundred small files took longer than running them.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { buildCommand, version } from "./build-command.ts";
import { buildConsole } from "./build-console.ts";
import { schemaFile, toPublished } from "./config-schema.ts";
import { acceptUndefined } from "./optional-members.ts";
import { root, sourceOf, subpaths } from "./subpaths.ts";

/** Parsers of configuration files. They become part of the library, so that its users do not install them. */
const inlined = new Set(["jsonc-parser", "smol-toml"]);

rmSync(join(root, "dist"), { recursive: true, force: true });
const bundle = await rolldown({
  cwd: root,
  input: Object.fromEntries(subpaths.map(({ entry }) => [entry, sourceOf(entry)])),
  // Keep third-party packages as imports, so that users have a single copy of each.
  external: (id) => !id.startsWith(".") && !id.startsWith("/") && !/^[A-Za-z]:/.test(id) && !inlined.has(id),
  platform: "neutral",
  resolve: { mainFields: ["module", "main"] },
  treeshake: { moduleSideEffects: false },
  transform: { define: { __PACKAGE_VERSION__: JSON.stringify(version) } },
});
await bundle.write({
  dir: join(root, "dist"),
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "chunks/[name].js",
  comments: { jsdoc: false, legal: true, annotation: true }, // Editors read those of the declarations.
});
await bundle.close();

await buildCommand();
await buildConsole();

// Users refer to it by its path: `node_modules/@alkdev/operations/config.schema.json`.
writeFileSync(
  join(root, "config.schema.json"),
  JSON.stringify(toPublished(JSON.parse(readFileSync(schemaFile, "utf8")))),
);

const compiler = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", "tsconfig.build.json"], {
  cwd: root,
  stdio: "inherit",
  shell: process.platform === "win32",
});
for (const file of readdirSync(join(root, "dist"), { recursive: true, encoding: "utf8" })) {
  const path = join(root, "dist", file);
  if (file.endsWith(".d.ts")) writeFileSync(path, acceptUndefined(readFileSync(path, "utf8")));
}
process.exitCode = compiler.status ?? 1;
