import { defineConfig } from "vitest/config";
import { root } from "../scripts/subpaths.ts";
import { shared } from "../vitest.config.ts";

/** `npm run lab -- test`: short runs of chaos and soak, and the tests of the programs themselves. */
export default defineConfig({
  ...shared,
  root,
  test: {
    ...shared.test,
    include: ["lab/**/*.test.ts"],
    globalSetup: ["./test/test-folder.ts", "./test/brokers.ts"],
  },
});
