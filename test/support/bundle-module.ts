import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";

/** A TypeScript module as one file of JavaScript, which a process of its own loads in a moment. */
export interface BundledModule extends AsyncDisposable {
  readonly url: URL;
}

/** Bundles a module with everything it imports. The file goes when it goes out of scope. */
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
