import { deepStrictEqual } from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client, InMemoryTransport, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { MCPClientConfig } from "../../src/from/mcp/index.ts";
import { buildServer } from "../../test/support/mcp-server.mjs";
import { importBuilt, operations } from "./built.ts";
import { type Block, formatNoise, type MeasureOptions, measure, median } from "./measure.ts";
import { formatTime, type Row } from "./table.ts";

const { closeMCPClient, createMCPClient, MCPClientLoader } =
  await importBuilt<typeof import("../../src/from/mcp/index.ts")>("from/mcp/index.js");

const program = fileURLToPath(new URL("../../test/support/mcp-server.mjs", import.meta.url));
const input = { a: 19, b: 23 };
const timeout = 60_000;

/** Measures a tool call through the registry against the SDK's `callTool`, and the loading of many servers. */
export async function run(): Promise<Row[]> {
  const calls = [...(await compareStdio()), ...(await compareHTTP()), ...(await compareInMemory())];
  return [...calls, await compareLoading(), await countPackages()];
}

/**
 * Our programs lead their own session, so that their descendants can be ended with them. On a busy Linux machine the
 * scheduler alternates between sessions, which makes calls slower. If `setsid` is available, the SDK's program is also
 * measured in its own session.
 */
async function compareStdio(): Promise<Row[]> {
  const command = { command: process.execPath, args: [program, "stdio"] };
  const options = { blockTime: 40, warmUp: 2_000 };
  const client = await connectSDK(new StdioClientTransport(command), "legacy");
  const rows = await compareCalls("one tool call over stdio", 1.1, client, command, options);
  if (!existsSync("/usr/bin/setsid")) return rows;
  const inSession = { command: "/usr/bin/setsid", args: [command.command, ...command.args] };
  const other = await connectSDK(new StdioClientTransport(inSession), "legacy");
  return [...rows, ...(await compareCalls("the same, both in a session", 1.1, other, command, options))];
}

async function compareHTTP(): Promise<Row[]> {
  const server = spawn(process.execPath, [program, "http"], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = (await once(server.stdout, "data")) as [Buffer];
  const url = `http://127.0.0.1:${port.toString().trim()}/mcp`;
  const client = await connectSDK(new StreamableHTTPClientTransport(new URL(url)), "auto");
  try {
    return await compareCalls("one tool call over HTTP", 1.1, client, { url }, { blockTime: 60, warmUp: 3_000 });
  } finally {
    server.kill();
  }
}

async function compareInMemory(): Promise<Row[]> {
  const link = async () => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    await buildServer().connect(theirs);
    return ours;
  };
  const client = await connectSDK(await link(), "legacy");
  return compareCalls("one tool call in memory", 1.3, client, { transport: link }, { warmUp: 2_000 });
}

/** Both use a new signal for every call and the same timeout. */
async function compareCalls(
  work: string,
  bar: number,
  client: Client,
  config: MCPClientConfig,
  options: MeasureOptions,
): Promise<Row[]> {
  const wrapper = await createMCPClient("bench", { ...config, timeouts: { request: timeout } });
  const registry = new operations.OperationRegistry();
  registry.registerAll(wrapper.tools);
  const sdk: Block = async (times) => {
    let last: unknown;
    for (let count = 0; count < times; count++) {
      const { signal } = new AbortController();
      const result = await client.callTool({ name: "sum", arguments: input }, { signal, timeout });
      last = { data: result.structuredContent };
    }
    return last;
  };
  const ours: Block = async (times) => {
    let last: unknown;
    for (let count = 0; count < times; count++) {
      const { signal } = new AbortController();
      last = await registry.execute("bench.sum", input, { signal });
    }
    return last;
  };
  for (const block of [sdk, ours]) deepStrictEqual(((await block(1)) as { data: unknown }).data, { sum: 42 });
  const measured = await measure(sdk, { ours }, { rounds: 41, ...options });
  const used = await measure(sdk, { ours }, { rounds: 41, ...options, warmUp: 400, clock: "cpu" });
  await Promise.all([closeMCPClient(wrapper), client.close()]);
  const { ns, ratio } = measured.cases.ours;
  const note = `${formatTime(ns)}, callTool of the SDK ${formatTime(measured.floor.ns)}, ${formatNoise(measured)}`;
  const usedNote = `${formatTime(used.cases.ours.ns)}, the SDK ${formatTime(used.floor.ns)}, ${formatNoise(used)}`;
  return [
    { work, ratio, bar, aim: 1, note },
    { work: "  in processor time of the client", ratio: used.cases.ours.ratio, note: usedNote },
  ];
}

async function connectSDK(transport: Transport, mode: "legacy" | "auto"): Promise<Client> {
  const client = new Client({ name: "bench", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(transport);
  await client.listTools(); // From now on, the client checks the output schema.
  return client;
}

/** Measures the loading of twenty servers that need up to four seconds to start, against the slowest of them. */
async function compareLoading(): Promise<Row> {
  const slow = fileURLToPath(new URL("../../test/fixtures/mcp-servers/slow-start.mjs", import.meta.url));
  const start = (ms: number) => ({ command: process.execPath, args: [slow, String(ms)] });
  const twenty = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [`s${index}`, start(index * 100 + 2_100)]),
  );
  const ratios: number[] = [];
  const times: number[] = [];
  for (let round = 0; round < 3; round++) {
    const slowest = await timeLoading({ s19: twenty["s19"]! });
    const all = await timeLoading(twenty);
    ratios.push(all / slowest);
    times.push(all);
  }
  const note = `${formatTime(median(times) * 1e6)}, each of its own 2.1 to 4 s`;
  return { work: "loading 20 servers ÷ the slowest", ratio: median(ratios), bar: 1.2, aim: 1.1, note };
}

async function timeLoading(config: Record<string, MCPClientConfig>): Promise<number> {
  const loader = new MCPClientLoader();
  const started = performance.now();
  const wrappers = await loader.load(config);
  const took = performance.now() - started;
  deepStrictEqual(wrappers.length, Object.keys(config).length);
  await loader.closeAll();
  return took;
}

/** Counts the SDK packages that are loaded by importing the package and its `from-mcp` sub-path. */
async function countPackages(): Promise<Row> {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const program = [
    "test/support/loaded-packages.mjs",
    "@modelcontextprotocol/",
    "dist/index.js",
    "dist/from/mcp/index.js",
  ];
  const { stdout } = await promisify(execFile)(process.execPath, program, { cwd: root });
  const { length } = JSON.parse(stdout) as string[];
  return { work: "SDK packages loaded by importing", ratio: length, bar: 0, unit: "packages" };
}
