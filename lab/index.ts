/** `npm run lab -- NAME [arguments]`: runs a program of this folder, or lists them. */
import { spawnSync } from "node:child_process";
import { root } from "../scripts/subpaths.ts";

/** The programs, each with what it does and where it is. A program that needs a tool of its own is a command. */
const programs: Record<string, { about: string } & ({ module: string } | { command: string[] })> = {
  bench: { about: "benchmarks, as ratios that are compared with bars", module: "./bench/main.ts" },
  walk: { about: "files and functions that one call runs through, compared with budgets", module: "./walk/main.ts" },
  chaos: { about: "random faults, and a check of the guarantees", module: "./chaos/main.ts" },
  soak: { about: "the same work very often, to find leaks", module: "./soak/main.ts" },
  "worker-deaths": { about: "how long callers wait for workers that died", module: "./worker-deaths.ts" },
  "server-memory": { about: "memory that slow clients hold in a server", module: "./server-memory.ts" },
  mutants: { about: "changes of the sources that no test notices", module: "./mutants/main.ts" },
  compare: { about: "generated cases with an earlier version and this one", module: "./compare/main.ts" },
  suite: { about: "the JSON Schema Test Suite", module: "./json-schema-suite.ts" },
  corpora: { about: "all OpenAPI documents of a folder", module: "./corpora.ts" },
  "types-figures": { about: "generated types of GitHub's API: size and compiler time", module: "./types-figures.ts" },
  "mcp-servers": { about: "published MCP servers, imported and called", module: "./mcp/servers.ts" },
  "mcp-clients": { about: "published MCP clients against our server", module: "./mcp/clients.ts" },
  "mcp-conformance": { about: "the official MCP suite, client and server", module: "./mcp/conformance.ts" },
  "server-tools": { about: "published tools against our HTTP server", module: "./served/main.ts" },
  console: {
    about: "the console of a hub in Chromium: its promises, its budgets, and pictures of its views",
    command: ["vitest", "run", "--config", "lab/console/vitest.config.ts"],
  },
  mounts: { about: "servers in Next, Deno and Bun", module: "./mounts.ts" },
  test: { about: "the tests of this folder", command: ["vitest", "run", "--config", "lab/vitest.config.ts"] },
  types: { about: "the compiler on this folder", command: ["tsc", "--noEmit", "-p", "lab"] },
};

const [, , name = "", ...args] = process.argv;
const program = Object.hasOwn(programs, name) ? programs[name] : undefined;
if (program === undefined) {
  const rows = Object.entries(programs).map(([key, { about }]) => `  ${key.padEnd(16)} ${about}`);
  console.log(`Usage: npm run lab -- NAME [arguments]\n\n${rows.join("\n")}`);
  process.exitCode = name === "" || name === "--help" ? 0 : 2;
} else if ("command" in program) {
  const [command = "", ...first] = program.command;
  const options = { cwd: root, stdio: "inherit", shell: process.platform === "win32" } as const;
  process.exitCode = spawnSync("npx", ["--no-install", command, ...first, ...args], options).status ?? 1;
} else {
  process.argv.splice(2, 1); // The program reads its own arguments.
  await import(program.module);
}
