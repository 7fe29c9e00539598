import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { root } from "./subpaths.ts";

/** Packages that load files of their own by path. They are dependencies or optional peers. */
const external = new Set(["jiti", "node-sqlite3-wasm"]);

/** The version of the package. */
export const { version }: { version: string } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/**
 * Builds the `operations` command into a folder, in about two seconds, and returns the path of its program. It contains all
 * packages that it uses, because it has to start fast, and because users of the library do not need them. Each command is a
 * chunk of its own.
 */
export async function buildCommand(folder = join(root, "dist/cli")): Promise<string> {
  const command = await rolldown({
    cwd: root,
    input: { main: join(root, "src/cli/main.ts") },
    external: (id) => isBuiltin(id) || external.has(id),
    platform: "node",
    resolve: { mainFields: ["module", "main"] }, // The other form of jsonc-parser cannot be bundled.
    transform: {
      define: {
        __PACKAGE_VERSION__: JSON.stringify(version),
        // CommonJS packages use these names, which modules do not have.
        __dirname: "import.meta.dirname",
        __filename: "import.meta.filename",
      },
    },
  });
  const { output } = await command.write({
    dir: folder,
    format: "esm",
    banner: (chunk) => (chunk.isEntry ? "#!/usr/bin/env node" : ""),
    chunkFileNames: "chunks/[name].js",
    minify: { compress: true, mangle: true },
  });
  await command.close();
  const modules = output.flatMap((item) => (item.type === "chunk" ? item.moduleIds : []));
  writeFileSync(join(folder, "LICENSES.txt"), collectLicenses(modules));
  const program = join(folder, "main.js");
  chmodSync(program, 0o755);
  return program;
}

/** Returns the licenses of all packages of which a bundle contains modules, as their authors demand. */
function collectLicenses(modules: readonly string[]): string {
  const folders = new Set(
    modules.flatMap((id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll("\\", "/")) ?? []),
  );
  const texts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? "" : `\n\n${readFileSync(join(folder, file), "utf8").trim()}`;
    return `${name} ${version}: ${license}${text}`;
  });
  return `This program contains the following packages.\n\n${texts.join("\n\n---\n\n")}\n`;
}
