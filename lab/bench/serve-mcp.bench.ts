import { deepStrictEqual } from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { type Block, shuffle } from "./measure.ts";
import { formatTime, type Row } from "./table.ts";

/** At least 0.85 of the calls per second of the SDK's server. */
const bar = 1 / 0.85;

/** Number of processes of each program, one after the other. Two processes of one program differ by up to 20 %. */
const processes = 4;
/** A server is optimized step by step. Its calls cost a quarter of the first ones after this number. */
const warmUpCalls = 5_000;
const warmUpClients = 10;
const callsPerRound = 100;
const usualRounds = 30;

/** A client, and the process of its server. */
interface Connection {
  readonly client: Client;
  readonly pid: number;
}

/** Starts what is compared: the measured server, and the one that it is compared with. */
type Start = () => Promise<readonly [Connection, Connection]>;

/** What a client does. The first result is checked. */
type Work = (client: Client) => Promise<Block>;

const ourProgram = "serve-mcp-server.mjs";
const sdkProgram = "../../test/support/mcp-server.mjs";

/** Programs that are running. */
const started = new Set<ChildProcess>();

/** Measures calls of one tool through `serveMCP` and `serveMCPStdio` against the SDK's low-level server. */
export async function run(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  try {
    const page = join(folder, "page.json");
    await savePage(page);
    return [
      await compare("one call over HTTP, 2026-07-28", bar, callTool, () => startBoth(["http"], ["http"])),
      await compare("one call over HTTP, in a session", bar, callTool, () => startBoth(["session"], ["session"])),
      await compare("one call over stdio", bar, callTool, startStdio),
      await compare("1,000 operations ÷ one", 1.05, callTool, startTwoSizes, 3 * usualRounds),
      await compare("100 of 1,000 tools ÷ the SDK", bar, readPage, () => startBoth(["http"], ["http", page], "/many")),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Compares the CPU time of servers in other processes, which neither the client nor a busy machine changes. */
async function compare(label: string, limit: number, work: Work, start: Start, rounds = usualRounds): Promise<Row> {
  const times: [number[], number[]] = [[], []];
  for (let count = 0; count < processes; count++) {
    const connections = await start();
    try {
      const ticks = await measure(connections, work, rounds);
      for (const index of [0, 1] as const) times[index].push((ticks[index]! * 1e7) / (rounds * callsPerRound));
    } finally {
      await Promise.all(connections.map(({ client }) => client.close()));
      stopAll();
    }
  }
  const format = (list: number[]) => list.map(formatTime).join(", ");
  const note = `CPU time of the server: ${format(times[0])}; the other ${format(times[1])}`;
  return { work: label, ratio: sum(times[0]) / sum(times[1]), bar: limit, aim: 1, note };
}

/** Returns the CPU time of each server, in units of 10 ms. */
async function measure(connections: readonly Connection[], work: Work, rounds: number): Promise<number[]> {
  const blocks: Block[] = [];
  for (const { client } of connections) {
    const block = await work(client);
    await Promise.all(Array.from({ length: warmUpClients }, () => block(warmUpCalls / warmUpClients)));
    blocks.push(block);
  }
  const ticks = blocks.map(() => 0);
  for (let round = 0; round < rounds; round++) {
    for (const index of shuffle([...blocks.keys()])) {
      const { pid } = connections[index]!;
      const before = readTicks(pid);
      await blocks[index]!(callsPerRound);
      ticks[index]! += readTicks(pid) - before;
    }
  }
  return ticks;
}

function stopAll(): void {
  for (const program of started) program.kill();
  started.clear();
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Returns the CPU time of another process, in units of 10 ms. Only Linux has this file. */
function readTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return Number(fields[11]) + Number(fields[12]); // user and system
}

async function startBoth(ours: string[], theirs: string[], path = "/mcp"): ReturnType<Start> {
  return [
    await connectHTTP(await launch(ourProgram, ours), path, ours),
    await connectHTTP(await launch(sdkProgram, theirs), "/mcp", theirs),
  ];
}

/** Both servers share a process and its optimized code, so that only the number of operations differs. */
async function startTwoSizes(): ReturnType<Start> {
  const server = await launch(ourProgram, ["http"]);
  return [await connectHTTP(server, "/many"), await connectHTTP(server, "/mcp")];
}

async function startStdio(): ReturnType<Start> {
  return [await connectStdio(ourProgram), await connectStdio(sdkProgram)];
}

/** A server on a port of this machine. */
interface LaunchedServer {
  readonly pid: number;
  readonly origin: string;
}

async function launch(file: string, args: readonly string[]): Promise<LaunchedServer> {
  const program = fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  started.add(child);
  const [port] = (await once(child.stdout, "data")) as [Buffer];
  return { pid: child.pid!, origin: `http://127.0.0.1:${port.toString().trim()}` };
}

async function connectHTTP({ pid, origin }: LaunchedServer, path: string, [kind]: string[] = []): Promise<Connection> {
  const transport = new StreamableHTTPClientTransport(new URL(path, origin), {
    // The client passes the same signal to all requests of a session.
    fetch: (url, init) => fetch(url, { ...init, signal: null }),
  });
  return { pid, client: await connect(transport, kind === "session" ? "legacy" : "auto") };
}

async function connectStdio(file: string): Promise<Connection> {
  const program = fileURLToPath(new URL(file, import.meta.url));
  const transport = new StdioClientTransport({ command: process.execPath, args: [program, "stdio"] });
  const client = await connect(transport, "auto");
  return { pid: transport.pid!, client };
}

async function connect(transport: Transport, mode: "legacy" | "auto"): Promise<Client> {
  const client = new Client({ name: "bench", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(transport);
  return client;
}

async function callTool(client: Client): Promise<Block> {
  const { tools } = await client.listTools();
  const { name } = tools.find((tool) => tool.name.endsWith("sum"))!;
  const params = { name, arguments: { a: 19, b: 23 } };
  deepStrictEqual((await client.callTool(params)).structuredContent, { sum: 42 });
  return async (times) => {
    let last: unknown;
    for (let count = 0; count < times; count++) last = await client.callTool(params);
    return last;
  };
}

async function readPage(client: Client): Promise<Block> {
  const request = { method: "tools/list", params: {} } as const;
  deepStrictEqual((await client.request(request)).tools.length, 100);
  return async (times) => {
    let last: unknown;
    for (let count = 0; count < times; count++) last = await client.request(request);
    return last;
  };
}

/** Saves the page of tools that our server returns, so that the SDK's server returns the same from memory. */
async function savePage(file: string): Promise<void> {
  const { client } = await connectHTTP(await launch(ourProgram, ["http"]), "/many");
  const { tools, nextCursor } = await client.request({ method: "tools/list", params: {} });
  writeFileSync(file, JSON.stringify({ tools, nextCursor }));
  await client.close();
  stopAll();
}
