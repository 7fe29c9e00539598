import { availableParallelism } from "node:os";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { sourceOf, subpaths } from "./scripts/subpaths.ts";
import { testTimeoutMs, waitTimeoutMs } from "./src/internal/testing.ts";
import { bundleTypebox } from "./test/bundled-typebox.ts";
import SlowFirst from "./test/slow-first.ts";

/** What all configurations of tests have in common. */
export const shared = {
  resolve: {
    alias: [
      // Tests, examples and docs import the package by its name; here that means the sources.
      ...subpaths.map(({ specifier, entry }) => ({
        find: new RegExp(`^${specifier}$`),
        replacement: sourceOf(entry).replaceAll("\\", "/"),
      })),
      ...(await bundleTypebox()),
    ],
  },
  test: {
    exclude: ["**/node_modules/**", "dist"],
    testTimeout: testTimeoutMs,
    hookTimeout: testTimeoutMs,
    expect: { poll: { timeout: waitTimeoutMs } },
    setupFiles: ["./test/setup.ts"],
    // Most files wait for processes and timers most of the time.
    maxWorkers: 2 * availableParallelism(),
    sequence: { sequencer: SlowFirst },
    reporters: ["default", "./scripts/count-reporter.ts"],
  },
} satisfies ViteUserConfig;

export default defineConfig({
  ...shared,
  test: {
    ...shared.test,
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["{src,test,docs,scripts}/**/*.test.ts"],
          exclude: ["test/package/**", "test/fixtures/**"],
          globalSetup: ["./test/test-folder.ts", "./test/brokers.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "package",
          include: ["test/package/**/*.test.ts"],
          globalSetup: "./test/package/setup.ts",
          // They run compilers, npm and a browser, each of which takes many seconds on two cores.
          testTimeout: 2 * testTimeoutMs,
          hookTimeout: 2 * testTimeoutMs,
        },
      },
    ],
  },
});
