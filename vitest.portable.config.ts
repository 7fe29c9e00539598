import { defineConfig } from "vitest/config";
import { shared } from "./vitest.config.ts";

/** The tests that need neither a broker, a browser, Debian nor POSIX signals and file modes. */
export default defineConfig({
  ...shared,
  test: {
    ...shared.test,
    include: ["src/**/*.test.ts", "test/{conformance,stories,history}/**/*.test.ts"],
    exclude: [
      ...shared.test.exclude,
      // brokers
      "test/conformance/{nats,redis}.test.ts",
      "test/stories/signed-identity.test.ts",
      // signals and process groups
      "src/from/mcp/connection/{flood,process-group,stdio}.test.ts",
      "src/transport/worker/processes.test.ts",
      "test/stories/{mcp-faulty-servers,mcp-tools,start}.test.ts",
      // paths, links and environments as POSIX has them
      "src/cli/trust.test.ts",
      "src/from/mcp/connection/environment.test.ts",
      "src/hub/{access,history}.test.ts",
      "src/node/file-system.test.ts",
    ],
    globalSetup: "./test/test-folder.ts",
  },
});
