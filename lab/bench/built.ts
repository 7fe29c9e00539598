/** Entry of the built package. */
export const builtEntry = new URL("../../dist/index.js", import.meta.url);

/**
 * The built package, as users run it. Sources run through a TypeScript loader would be slower, because loaders wrap
 * every named closure to keep its name.
 */
export const operations = await importBuilt<typeof import("../../src/index.ts")>("index.js");

/** Imports one file of `dist`. Pass the type of its source: `importBuilt<typeof import("../src/x.ts")>("x.js")`. */
export async function importBuilt<Module>(path: string): Promise<Module> {
  return import(new URL(`../../dist/${path}`, import.meta.url).href) as Promise<Module>;
}
