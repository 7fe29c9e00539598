/**
 * `npx tsx scripts/api-reference.ts [folder]`: writes the API reference as web pages, one module per sub-path. Every TypeDoc warning is
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
  // The types of TypeBox's functions have the same effect. `Type`, which they belong to, is part of the pages.
  exclude: "**/src/operation/default-builders.ts",
  excludeInternal: "true",
  disableSources: "true",
  treatWarningsAsErrors: "true",
};
/**
 * Types that are not exported although exported types refer to them: tables that types are derived from, and steps of a
 * computation. All others are exported, so that the reference is complete and users can name them.
 */
const unexported = [
  "AnyErrors",
  "Callable",
  "CallableId",
  "CustomAuthOf",
  "DefaultBuilders",
  "ErrorsOf",
  "HasDefault",
  "InferStatic",
  "InferWithDefaults",
  "Loose",
  "MissingJSONSchema",
  "OperationsOf",
  "RegisteredOperations",
  "Relaxed",
  "TargetOf",
  "WithJSONSchema",
  "codes",
];
const entries = subpaths.flatMap(({ entry }) => ["--entryPoints", sourceOf(entry)]);
const settings = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
const { status } = spawnSync(
  process.execPath,
  [
    join(root, "node_modules/typedoc/bin/typedoc"),
    ...entries,
    ...settings,
    ...unexported.flatMap((name) => ["--intentionallyNotExported", name]),
  ],
  { cwd: root, stdio: "inherit" },
);
process.exitCode = status ?? 1;
