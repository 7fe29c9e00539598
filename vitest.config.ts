import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    // Examples, docs and stories import the package by its name; here that means the sources.
    alias: [
      { find: /^@alkdev\/operations$/, replacement: source("index.ts") },
      { find: /^@alkdev\/operations\/from-openapi$/, replacement: source("from/openapi/index.ts") },
      { find: /^@alkdev\/operations\/node$/, replacement: source("node/index.ts") },
    ],
  },
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "docs/**/*.test.ts"],
    exclude: ["node_modules", "dist", "test/fixtures"],
    testTimeout: 20_000,
  },
});
