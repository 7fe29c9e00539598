/** Where the built package starts. */
export const builtEntry = new URL("../dist/index.js", import.meta.url);

/**
 * The package as users run it. The sources through a TypeScript loader would be slower: such loaders wrap every
 * named closure to keep its name.
 */
export const operations = await importBuilt<typeof import("../src/index.ts")>("index.js");

/** Imports one file of `dist`; name the source's type: `importBuilt<typeof import("../src/x.ts")>("x.js")`. */
export async function importBuilt<Module>(path: string): Promise<Module> {
  return import(new URL(`../dist/${path}`, import.meta.url).href) as Promise<Module>;
}
