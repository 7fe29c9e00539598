import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";

/** A TypeScript module as one JavaScript file, which a process or thread loads much faster than the sources. */
export interface BundledModule extends AsyncDisposable {
  readonly url: URL;
}

/** Bundles a module with everything it imports. The file is removed when the module is disposed. */
export async function bundleModule(source: URL): Promise<BundledModule> {
  // Workers of Vitest end without an event, so that its main process removes what they leave.
  const folder = await mkdtemp(join(process.env["TEST_FOLDER"] ?? tmpdir(), "bundle-"));
  const file = join(folder, "module.mjs");
  const bundle = await rolldown({
    input: fileURLToPath(source),
    platform: "node",
    external: ["node-sqlite3-wasm"], // It reads a file from its own folder.
    tsconfig: fileURLToPath(new URL("../../tsconfig.json", import.meta.url)), // its paths lead to the sources
    logLevel: "silent",
  });
  await bundle.write({ file, format: "esm", codeSplitting: false });
  await bundle.close();
  return {
    url: pathToFileURL(file),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

const programs = new Map<string, Promise<string>>();

/** Bundles a program once for this process, which removes the file when it exits. Returns the path of the file. */
export function bundleProgram(source: URL): Promise<string> {
  const known = programs.get(source.href);
  if (known !== undefined) return known;
  const bundled = bundleModule(source).then(({ url }) => {
    process.once("exit", () => rmSync(new URL(".", url), { recursive: true, force: true }));
    return fileURLToPath(url);
  });
  programs.set(source.href, bundled);
  return bundled;
}
