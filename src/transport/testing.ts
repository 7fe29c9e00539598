import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";

/** A TypeScript module as one JavaScript file, which a process loads faster than many files. */
export interface BundledModule extends AsyncDisposable {
  readonly url: URL;
}

/** Bundles a module with everything it imports. The file is removed when the module is disposed. */
export async function bundleModule(source: URL): Promise<BundledModule> {
  const folder = await mkdtemp(join(tmpdir(), "bundle-"));
  const file = join(folder, "module.mjs");
  const bundle = await rolldown({ input: fileURLToPath(source), platform: "node", logLevel: "silent" });
  await bundle.write({ file, format: "esm", codeSplitting: false });
  await bundle.close();
  return {
    url: pathToFileURL(file),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
