/**
 * `npm run lab -- mcp-conformance [client|server] [part-of-a-name …]`: runs all scenarios that the official MCP conformance
 * suite has for each protocol revision: the client scenarios, and those for client credentials, against
 * `createMCPClient`, and the server scenarios against `serveMCP`.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../../scripts/subpaths.ts";
import { findProblem, readChecks } from "./checks.ts";
import { startConformanceServer } from "./conformance-server.ts";
import { installPackage } from "./install.ts";
import { printTable } from "./table.ts";

const suite = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
const revisions = ["2025-11-25", "2026-07-28"] as const;
const sides = ["client", "server"] as const;
type Side = (typeof sides)[number];

/** Extensions, which belong to no revision. */
const extensions: Record<Side, readonly string[]> = {
  client: ["auth/client-credentials-basic", "auth/client-credentials-jwt"],
  server: [],
};

const noFeature = (feature: string) => `Operations are served as tools. The server does not offer ${feature}.`;
const noInput = noFeature("requests for input from the user or the model");

/** `revision scenario` or `scenario` of a server, and the reason why it may fail. An entry that passes is also an error. */
const expectedFailures: Readonly<Record<string, string>> = {
  "logging-set-level": noFeature("logging"),
  "tools-call-with-logging": noFeature("logging"),
  "completion-complete": noFeature("completion"),
  "tools-call-sampling": noInput,
  "tools-call-elicitation": noInput,
  "elicitation-sep1034-defaults": noInput,
  "elicitation-sep1330-enums": noInput,
  "resources-list": noFeature("resources"),
  "resources-read-text": noFeature("resources"),
  "resources-read-binary": noFeature("resources"),
  "resources-templates-read": noFeature("resources"),
  "resources-subscribe": noFeature("resources"),
  "resources-unsubscribe": noFeature("resources"),
  "prompts-list": noFeature("prompts"),
  "prompts-get-simple": noFeature("prompts"),
  "prompts-get-with-args": noFeature("prompts"),
  "prompts-get-embedded-resource": noFeature("prompts"),
  "prompts-get-with-image": noFeature("prompts"),
  "server-sse-polling": "The server does not store events, so that clients cannot resume a stream.",
  "http-custom-header-server-validation":
    "The server does not ask clients to repeat arguments in headers, because the low-level server of the SDK does not check them.",
  "input-required-result-missing-input-response": noInput,
  "input-required-result-ignore-extra-params": noInput,
  "input-required-result-basic-elicitation": noInput,
  "input-required-result-basic-sampling": noInput,
  "input-required-result-basic-list-roots": noInput,
  "input-required-result-request-state": noInput,
  "input-required-result-multiple-input-requests": noInput,
  "input-required-result-multi-round": noInput,
  "input-required-result-non-tool-request": noInput,
  "input-required-result-result-type": noInput,
  "input-required-result-tampered-state": noInput,
  "input-required-result-capability-check": noInput,
};

/** Scenarios of which only these checks may fail, and the reason. */
const expectedChecks: Readonly<Record<string, { reason: string; checks: readonly string[] }>> = {
  "2026-07-28 server-stateless": {
    reason: `${noInput} So no tool requires a capability of the client, which the checks need.`,
    checks: ["sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"],
  },
  "2026-07-28 caching": {
    reason: noFeature("resources and prompts"),
    checks: [
      "sep-2549-prompts-list-caching-hints",
      "sep-2549-resources-list-caching-hints",
      "sep-2549-resources-templates-list-caching-hints",
    ],
  },
};

interface Scenario {
  side: Side;
  revision: string;
  scenario: string;
}

interface Run extends Scenario {
  /** The reason why it did not pass. */
  problem: string | undefined;
  output: string;
}

const home = await installPackage("mcp-conformance", suite);
const program = join(home, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const folder = mkdtempSync(join(tmpdir(), "mcp-conformance-"));
const given = process.argv.slice(2);
const wanted = given.filter((part) => !sides.includes(part as Side));
const chosen = sides.filter((side) => given.includes(side) || !sides.some((each) => given.includes(each)));
const queue = (await Promise.all(revisions.map(listScenarios))).flat();
if (queue.length === 0) throw new Error("The suite lists no scenarios with these names, or it does not start.");
const runs: Run[] = [];
const server = await startConformanceServer();
try {
  await Promise.all([worker(), worker()]);
} finally {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
}
report();

async function worker(): Promise<void> {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { side, revision, scenario } = next;
    const results = join(folder, side, revision, scenario);
    // Extensions do not belong to a revision, so the suite would skip them.
    const options = ["--scenario", scenario, "--spec-version", revision, "--force", "--output-dir", results];
    const { code, output } = await runSuite([...toCommand(side), "--timeout", "60000", "--verbose", ...options]);
    const run = { ...next, problem: findProblem(code, readChecks(results)), output };
    runs.push(run);
    console.log(`${verdictOf(run)} ${side} ${revision} ${scenario}`);
  }
}

function toCommand(side: Side): string[] {
  if (side === "server") return ["server", "--url", `${server.url}/mcp`];
  const program = join(root, "lab/mcp/conformance-client.ts");
  return ["client", "--command", [process.execPath, "--import", import.meta.resolve("tsx"), program].join(" ")];
}

async function listScenarios(revision: string): Promise<Scenario[]> {
  const { output } = await runSuite(["list", "--spec-version", revision]);
  return chosen.flatMap((side) => {
    const heading = side === "client" ? "Client" : "Server";
    const [, section = ""] = new RegExp(`^${heading} scenarios[^\\n]*\\n((?: +- [^\\n]*\\n)*)`, "m").exec(output) ?? [];
    const listed = [...section.matchAll(/^ +- (\S+)/gm)].map(([, name]) => name!);
    return [...listed, ...extensions[side]]
      .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
      .map((scenario) => ({ side, revision, scenario }));
  });
}

function runSuite(args: readonly string[]): Promise<{ code: number; output: string }> {
  const shim = fileURLToPath(new URL("glob-shim.mjs", import.meta.url));
  const env = { ...process.env, TSX_TSCONFIG_PATH: join(root, "tsconfig.json"), NO_COLOR: "1" };
  return new Promise((resolve) => {
    const options = { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 };
    execFile(process.execPath, ["--import", shim, program, ...args], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : 1, output: stdout + stderr });
    });
  });
}

function verdictOf(run: Run): "✓" | "✗" | "expected" | "stale" {
  const { side, revision, scenario } = run;
  const isExpected =
    side === "server" && [scenario, `${revision} ${scenario}`].some((key) => Object.hasOwn(expectedFailures, key));
  const checks = side === "server" ? expectedChecks[`${revision} ${scenario}`]?.checks : undefined;
  if (run.problem === undefined) return isExpected || checks !== undefined ? "stale" : "✓";
  return isExpected || run.problem === `failed: ${checks?.join(", ")}` ? "expected" : "✗";
}

function report(): void {
  const failed = runs.filter((run) => ["✗", "stale"].includes(verdictOf(run)));
  for (const { side, revision, scenario, problem, output } of failed) {
    console.log(
      `\n── ${side} ${revision} ${scenario}: ${problem ?? "it passed, and is listed as an expected failure"}\n${output}`,
    );
  }
  console.log();
  const rows = chosen.flatMap((side) =>
    revisions.map((revision) => {
      const all = runs.filter((run) => run.side === side && run.revision === revision);
      const count = (verdict: string) => String(all.filter((run) => verdictOf(run) === verdict).length);
      return [side, revision, String(all.length), count("✓"), count("expected"), count("✗"), count("stale")];
    }),
  );
  printTable(["side", "revision", "scenarios", "passed", "expected failures", "failed", "stale"], rows);
  const passed = runs.filter((run) => verdictOf(run) === "✓");
  console.log(`\n${runs.length - passed.length - failed.length} failed as expected`);
  console.log(`${passed.length} passed, ${failed.length} failed`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}
