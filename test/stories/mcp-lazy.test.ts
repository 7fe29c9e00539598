import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Packages of the MCP SDK that a fresh process loads when it imports modules. */
async function loadedBy(...modules: string[]): Promise<string[]> {
  const program = ["--import", "tsx", "test/support/loaded-packages.mjs", "@modelcontextprotocol/"];
  const { stdout } = await promisify(execFile)(process.execPath, [...program, ...modules], { cwd: root });
  return JSON.parse(stdout) as string[];
}

test("importing the package and its sub-path from-mcp does not load the SDK", async () => {
  expect(await loadedBy("src/index.ts", "src/from/mcp/index.ts")).toEqual([]);
});

test("the check above would see the SDK", async () => {
  expect(await loadedBy("test/support/mcp-server.mjs")).toContain("@modelcontextprotocol/server");
});
