import { defineConfig } from "vitest/config";
import { root } from "../../scripts/subpaths.ts";
import { shared } from "../../vitest.config.ts";

/**
 * `npm run lab -- console`: uses the console as a person does, in Chromium, against the packed package, and measures it. One
 * file after the other, because of what they measure. Screenshots of all views are written to `.cache/console`.
 */
export default defineConfig({
  ...shared,
  root,
  test: {
    ...shared.test,
    include: ["lab/console/**/*.check.ts"],
    globalSetup: ["./test/test-folder.ts", "./test/package/setup.ts"],
    testTimeout: 240_000,
    hookTimeout: 120_000,
    fileParallelism: false,
    reporters: ["verbose"],
  },
});
