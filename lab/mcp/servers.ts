/**
 * `npm run lab -- mcp-servers [name …]`: installs published MCP servers from npm, imports each, and prints the results:
 * registered tools with the recorded schemas, valid calls, an invalid call, and processes that are left after closing.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isCallError, OperationRegistry, type ResponseEnvelope } from "@alkdev/operations";
import { closeMCPClient, createMCPClient } from "@alkdev/operations/from-mcp";
import { root } from "../../scripts/subpaths.ts";
import { binOf, installPackage } from "./install.ts";
import { findLeftovers, listDescendants } from "./processes.ts";
import { printTable } from "./table.ts";

interface ServerEntry {
  id: string;
  pkg: string;
  bin: string;
  args: string[];
  env?: Record<string, string>;
  /** A service that it needs and that is not available here. Its own errors then count as valid results. */
  needs?: string;
  calls?: Array<[tool: string, input: Record<string, unknown>]>;
}

interface RecordedTool {
  name: string;
  inputSchema: Record<string, unknown>;
  outputSchema?: unknown;
  execution?: { taskSupport?: string };
}

interface Outcome {
  tools: string;
  good: string;
  bad: string;
  left: string;
  problems: string[];
}

const nothing: Outcome = { tools: "-", good: "-", bad: "-", left: "-", problems: [] };
const fixtures = join(root, "test/fixtures");
const wanted = process.argv.slice(2);
const servers = (readJSON(join(fixtures, "mcp-servers.json")) as ServerEntry[]).filter(
  ({ id }) => wanted.length === 0 || wanted.includes(id),
);

const rows: string[][] = [];
let failures = 0;
for (const server of servers) {
  const started = performance.now();
  const outcome = await tryServer(server).catch((error: unknown) => ({ ...nothing, problems: [describe(error)] }));
  if (outcome.problems.length > 0) failures++;
  const { tools, good, bad, left, problems } = outcome;
  rows.push([server.pkg, tools, good, bad, left, `${Math.round(performance.now() - started)}`, problems.join("; ")]);
  console.log(`${problems.length === 0 ? "✓" : "✗"} ${server.id}`);
}
console.log();
printTable(["server", "tools", "good call", "bad call", "left", "ms", "problem"], rows);
console.log(`\n${rows.length - failures} passed, ${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;

async function tryServer(server: ServerEntry): Promise<Outcome> {
  const home = await installPackage(join("mcp-servers", server.id), server.pkg);
  const folder = mkdtempSync(join(tmpdir(), `${server.id}-`));
  try {
    return await tryInstalled(withFolder(server, folder), home, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function tryInstalled(server: ServerEntry, home: string, cwd: string): Promise<Outcome> {
  const all = readJSON(join(fixtures, "mcp-tools", `${server.id}.json`)) as RecordedTool[];
  // Tools that only run as tasks are skipped and reported.
  const recorded = all.filter(({ execution }) => execution?.taskSupport !== "required");
  const tasks = all.length - recorded.length;
  const problems: string[] = [];
  const client = await createMCPClient(server.id, {
    command: process.execPath,
    args: [binOf(home, server.bin), ...server.args],
    env: server.env,
    cwd,
    onReport: ({ skipped }) => {
      if (skipped.length !== tasks) problems.push(...skipped.map(({ where, reason }) => `skipped ${where}: ${reason}`));
    },
  });
  const registry = new OperationRegistry();
  registry.registerAll(client.tools);
  problems.push(...compareTools(registry, server.id, recorded));
  const good = await tryCalls(registry, server, problems);
  const bad = await tryBadCall(registry, server.id, recorded, problems);

  const started = listDescendants();
  await closeMCPClient(client);
  const { left, detached, late } = await findLeftovers(started);
  if (left.length + detached.length > 0) problems.push(`processes left: ${[...left, ...detached].join(", ")}`);
  const tools = `${client.tools.length}/${all.length}${tasks === 0 ? "" : `, ${tasks} as tasks only`}`;
  return { tools, good, bad, left: describeLeft(left.length + detached.length, late.length), problems };
}

function describeLeft(left: number, late: number): string {
  return late === 0 ? String(left) : `${left}, ${late} detached ended late`;
}

function compareTools(registry: OperationRegistry, namespace: string, recorded: RecordedTool[]): string[] {
  return recorded.flatMap(({ name, inputSchema, outputSchema }) => {
    const spec = registry.getSpec(`${namespace}.${name}`);
    if (spec === undefined) return [`${name} is missing`];
    const written = JSON.parse(JSON.stringify(spec)) as { inputSchema: unknown; outputSchema: unknown };
    if (!isDeepStrictEqual(written.inputSchema, inputSchema)) return [`${name} has another input schema`];
    if (outputSchema !== undefined && !isDeepStrictEqual(written.outputSchema, outputSchema)) {
      return [`${name} has another output schema`];
    }
    return [];
  });
}

/** Makes every call of the list. Only the envelope is checked, not the result of the server. */
async function tryCalls(registry: OperationRegistry, server: ServerEntry, problems: string[]): Promise<string> {
  const answers: string[] = [];
  for (const [tool, input] of server.calls ?? []) {
    try {
      const { meta } = await registry.execute(`${server.id}.${tool}`, input, { deadline: Date.now() + 30_000 });
      if (meta.source !== "mcp") problems.push(`${tool} returned the source ${meta.source}`);
      answers.push(meta.source === "mcp" && meta.isError ? "isError" : "ok");
    } catch (error) {
      const code = isCallError(error) ? error.code : String(error);
      answers.push(code);
      const isRefused = code === "VALIDATION_ERROR" || code === "OPERATION_NOT_FOUND";
      if (!isRefused && !(server.needs && code === "EXECUTION_ERROR")) problems.push(`${tool}: ${describe(error)}`);
    }
  }
  return summarise(answers);
}

/** Calls a tool without its required arguments: through the registry, which refuses it, and directly at the server. */
async function tryBadCall(
  registry: OperationRegistry,
  namespace: string,
  recorded: RecordedTool[],
  problems: string[],
): Promise<string> {
  const demanding = recorded.find(({ inputSchema }) => (inputSchema["required"] as string[] | undefined)?.length);
  if (demanding === undefined) return "-";
  const id = `${namespace}.${demanding.name}`;
  const refused = await registry.execute(id, {}).then(() => "accepted", codeOf);
  if (refused !== "VALIDATION_ERROR") problems.push(`${demanding.name} without arguments: ${refused}`);
  const handler = registry.getHandler(id) as (input: unknown, context: object) => Promise<ResponseEnvelope>;
  const context = { signal: AbortSignal.timeout(30_000), deadline: Date.now() + 30_000, metadata: {}, progress() {} };
  const answered = await handler({}, context).then(
    ({ meta }) => (meta.source === "mcp" && meta.isError ? "isError" : "ok"),
    codeOf,
  );
  return `${refused}, ${answered}`;
}

function codeOf(error: unknown): string {
  return isCallError(error) ? error.code : String(error);
}

function describe(error: unknown): string {
  return (isCallError(error) ? `${error.code}: ${error.message}` : String(error)).slice(0, 200);
}

/** Returns a summary such as `ok ×3, isError`. */
function summarise(answers: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const answer of answers) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  const parts = [...counts].map(([answer, count]) => (count === 1 ? answer : `${answer} ×${count}`));
  return parts.join(", ") || "-";
}

function withFolder(server: ServerEntry, folder: string): ServerEntry {
  return JSON.parse(JSON.stringify(server).replaceAll("$TMP", folder)) as ServerEntry;
}

function readJSON(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}
