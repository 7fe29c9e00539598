/**
 * `npm run mcp-conformance [-- part-of-a-name …]`: runs the client scenarios of the official MCP conformance suite that
 * each protocol revision requires, and those for client credentials, against `createMCPClient`.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProblem, readChecks } from "./mcp/checks.ts";
import { installPackage } from "./mcp/install.ts";
import { printTable } from "./mcp/table.ts";
import { root } from "./subpaths.ts";

const suite = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
const revisions = ["2025-11-25", "2026-07-28"] as const;
/** Scenarios beyond the requirements of a revision: extensions, and a scenario that is newer than both. */
const extras = ["auth/client-credentials-basic", "auth/client-credentials-jwt", "json-schema-2020-12-preservation"];

/** `revision scenario` and the reason why it may fail. An entry that passes is also an error. */
const expectedFailures: Readonly<Record<string, string>> = {};

interface Run {
  revision: string;
  scenario: string;
  /** The reason why it did not pass. */
  problem: string | undefined;
  output: string;
}

const home = await installPackage("mcp-conformance", suite);
const program = join(home, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const folder = mkdtempSync(join(tmpdir(), "mcp-conformance-"));
const wanted = process.argv.slice(2);
const queue = (await Promise.all(revisions.map(listScenarios))).flat();
const runs: Run[] = [];
try {
  await Promise.all([worker(), worker()]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
report();

async function worker(): Promise<void> {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const [revision, scenario] = next;
    const client = [
      process.execPath,
      "--import",
      import.meta.resolve("tsx"),
      join(root, "scripts/mcp-conformance-client.ts"),
    ];
    const results = join(folder, revision, scenario);
    // Extensions do not belong to a revision, so the suite would skip them.
    const options = ["--scenario", scenario, "--spec-version", revision, "--force", "--output-dir", results];
    const command = ["client", "--command", client.join(" "), "--timeout", "60000", "--verbose", ...options];
    const { code, output } = await runSuite(command);
    const run = { revision, scenario, problem: findProblem(code, readChecks(results)), output };
    runs.push(run);
    console.log(`${verdictOf(run)} ${revision} ${scenario}`);
  }
}

async function listScenarios(revision: string): Promise<Array<[revision: string, scenario: string]>> {
  const { output } = await runSuite(["list", "--client", "--requirements", revision]);
  const [, section = ""] = /^Client scenarios[^\n]*\n((?: +- \S+\n)*)/m.exec(output) ?? [];
  const required = [...section.matchAll(/^ +- (\S+)$/gm)].map(([, name]) => name!);
  return [...required, ...extras]
    .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
    .map((name) => [revision, name]);
}

function runSuite(args: readonly string[]): Promise<{ code: number; output: string }> {
  const shim = fileURLToPath(new URL("mcp/glob-shim.mjs", import.meta.url));
  const env = { ...process.env, TSX_TSCONFIG_PATH: join(root, "tsconfig.json"), NO_COLOR: "1" };
  return new Promise((resolve) => {
    const options = { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 };
    execFile(process.execPath, ["--import", shim, program, ...args], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : 1, output: stdout + stderr });
    });
  });
}

function verdictOf(run: Run): "✓" | "✗" | "expected" | "stale" {
  const isExpected = Object.hasOwn(expectedFailures, `${run.revision} ${run.scenario}`);
  if (run.problem === undefined) return isExpected ? "stale" : "✓";
  return isExpected ? "expected" : "✗";
}

function report(): void {
  const failed = runs.filter((run) => ["✗", "stale"].includes(verdictOf(run)));
  for (const { revision, scenario, problem, output } of failed) {
    console.log(
      `\n── ${revision} ${scenario}: ${problem ?? "it passed, and is listed as an expected failure"}\n${output}`,
    );
  }
  console.log();
  const rows = revisions.map((revision) => {
    const all = runs.filter((run) => run.revision === revision);
    const count = (verdict: string) => String(all.filter((run) => verdictOf(run) === verdict).length);
    return [revision, String(all.length), count("✓"), count("expected"), count("✗"), count("stale")];
  });
  printTable(["revision", "scenarios", "passed", "expected failures", "failed", "stale"], rows);
  console.log(`\n${runs.length - failed.length} passed, ${failed.length} failed`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}
