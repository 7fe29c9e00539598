/**
 * Builds `dist/`: declarations with one file per module, and code bundled per sub-path with shared chunks. Importing
 * two hundred small files took longer than running them.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, rmSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { root, sourceOf, subpaths } from "./subpaths.ts";

/** Packages that load files of their own by path. They are dependencies or optional peers. */
const external = new Set(["jiti", "node-sqlite3-wasm"]);

const { version }: { version: string } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

rmSync(join(root, "dist"), { recursive: true, force: true });
const bundle = await rolldown({
  cwd: root,
  input: Object.fromEntries(subpaths.map(({ entry }) => [entry, sourceOf(entry)])),
  // Keep third-party packages as imports, so that users have a single copy of each.
  external: (id) => !id.startsWith(".") && !id.startsWith("/") && !/^[A-Za-z]:/.test(id),
  platform: "neutral",
  treeshake: { moduleSideEffects: false },
  transform: { define: { __PACKAGE_VERSION__: JSON.stringify(version) } },
});
await bundle.write({
  dir: join(root, "dist"),
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "chunks/[name].js",
});
await bundle.close();

// The command contains all packages that it uses, because it has to start fast, and because users of the library do not need
// them. Each command is a chunk of its own.
const command = await rolldown({
  cwd: root,
  input: { main: join(root, "src/cli/main.ts") },
  external: (id) => isBuiltin(id) || external.has(id),
  platform: "node",
  transform: {
    define: {
      __PACKAGE_VERSION__: JSON.stringify(version),
      // CommonJS packages use these names, which modules do not have.
      __dirname: "import.meta.dirname",
      __filename: "import.meta.filename",
    },
  },
});
await command.write({
  dir: join(root, "dist/cli"),
  format: "esm",
  banner: (chunk) => (chunk.isEntry ? "#!/usr/bin/env node" : ""),
  chunkFileNames: "chunks/[name].js",
  minify: { compress: true, mangle: true },
});
await command.close();
chmodSync(join(root, "dist/cli/main.js"), 0o755);

const compiler = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", "tsconfig.build.json"], {
  cwd: root,
  stdio: "inherit",
  shell: process.platform === "win32",
});
process.exitCode = compiler.status ?? 1;
