/**
 * `npm run docs:api [folder]`: writes the API reference as web pages, one module per sub-path. Every TypeDoc warning is
 * an error, such as a link to a name that does not exist.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root, sourceOf, subpaths } from "./subpaths.ts";

const [folder = "api"] = process.argv.slice(2);
const options: Record<string, string> = {
  name: "@alkdev/operations",
  tsconfig: "tsconfig.build.json",
  readme: "README.md",
  out: folder,
  // The compiler checks types in `npm run types`.
  skipErrorChecking: "true",
  // Without these two, all of TypeBox becomes part of the pages, which takes minutes and gigabytes.
  excludeExternals: "true",
  externalPattern: "**/node_modules/**",
  // The schema builder is TypeBox's own builder with another type, and has the same effect.
  exclude: "**/src/operation/type.ts",
  excludeInternal: "true",
  disableSources: "true",
  // Helper types that only the compiler needs are not public.
  "validation.notExported": "false",
  treatWarningsAsErrors: "true",
};
const entries = subpaths.flatMap(({ entry }) => ["--entryPoints", sourceOf(entry)]);
const settings = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
const { status } = spawnSync(
  process.execPath,
  [join(root, "node_modules/typedoc/bin/typedoc"), ...entries, ...settings],
  { cwd: root, stdio: "inherit" },
);
process.exitCode = status ?? 1;
