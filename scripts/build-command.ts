import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
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
    plugins: [
      { name: "small-jq", transform: (code, id) => (jqProgram.test(id) ? compress(toLinearJQ(code)) : undefined) },
    ],
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
export function collectLicenses(modules: readonly string[]): string {
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

const jqProgram = /jq-wasm[\\/]dist[\\/]build[\\/]jq\.js$/;

/**
 * jq-wasm copies the rest of its input for every byte that it reads, and its output for every byte that it writes: a result of
 * 100 kB takes six seconds. These replacements make both linear.
 */
const jqReplacements: ReadonlyArray<[before: RegExp, after: string, count: number]> = [
  [/stdinBuffer = stdinBuffer\.slice\(1\);/g, "stdinBuffer = stdinBuffer.subarray(1);", 1],
  [/(std(?:out|err)Buffer) = new Uint8Array\(0\)/g, "$1 = []", 4],
  [/const tmp = new Uint8Array\((std\w+Buffer)\.length \+ 1\);[^}]*?\1 = tmp;/g, "$1.push(charCode);", 2],
  [/fromByteArray\((std\w+Buffer)\)/g, "fromByteArray(Uint8Array.from($1))", 2],
];

function toLinearJQ(code: string): string {
  return jqReplacements.reduce((current, [before, after, count]) => {
    const found = current.match(before)?.length ?? 0;
    if (found !== count)
      throw new Error(`jq-wasm has changed: ${before} was found ${found} times, not ${count} times.`);
    return current.replaceAll(before, after);
  }, code);
}

/** The program of jq is 1.2 MB of base64. Brotli makes it a quarter, and a filter starts some milliseconds later. */
function compress(code: string): string {
  let found = 0;
  const compressed = code.replace(
    /("data:application\/octet-stream;base64,)([A-Za-z0-9+/=]{1000,})"/g,
    (_, begin, program) => {
      found++;
      const packed = brotliCompressSync(Buffer.from(program, "base64")).toString("base64");
      const zlib = 'process.getBuiltinModule("node:zlib")';
      return `${begin}" + ${zlib}.brotliDecompressSync(Buffer.from("${packed}", "base64")).toString("base64")`;
    },
  );
  if (found !== 1) throw new Error(`jq-wasm has changed: its program was found ${found} times.`);
  return compressed;
}
