import { defineConfig } from "vitest/config";
import { sourceOf, subpaths } from "./scripts/subpaths.ts";

export default defineConfig({
  resolve: {
    // Tests, examples and docs import the package by its name; here that means the sources.
    alias: subpaths.map(({ specifier, entry }) => ({
      find: new RegExp(`^${specifier}$`),
      replacement: sourceOf(entry),
    })),
  },
  test: {
    exclude: ["**/node_modules/**", "dist"],
    // Generous: a busy machine must not turn a test red. Nothing waits for it that works.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
    setupFiles: ["./test/fixed-seed.ts", "./test/patience.ts"],
    reporters: ["default", "./scripts/count-reporter.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["{src,test,docs,scripts}/**/*.test.ts"],
          exclude: ["test/package/**", "test/fixtures/**"],
          globalSetup: "./test/global-setup.ts",
        },
      },
      {
        extends: true,
        test: {
          name: "package",
          include: ["test/package/**/*.test.ts"],
          globalSetup: "./test/package/setup.ts",
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
