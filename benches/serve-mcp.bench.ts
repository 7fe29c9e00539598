import { deepStrictEqual } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createMcpHandler, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { importBuilt } from "./built.ts";
import { buildServer } from "./mcp-server.mjs";
import { type Block, formatNoise, type MeasureOptions, measure, median, shuffle } from "./measure.ts";
import { buildRegistry } from "./serve-mcp-server.mjs";
import { formatTime, type Row } from "./table.ts";

const { serveMCP } = await importBuilt<typeof import("../src/serve/mcp/index.ts")>("serve/mcp/index.js");

/** At least 0.85 of the calls per second of the SDK's server. */
const bar = 1 / 0.85;
const address = "http://localhost/mcp";

type Fetch = (request: Request) => Response | Promise<Response>;

/** Measures a call of one tool through `serveMCP` and `serveMCPStdio` against the SDK's low-level server. */
export async function run(): Promise<Row[]> {
  const one = serveMCP(buildRegistry(1), { authenticate: "none" });
  const many = serveMCP(buildRegistry(1_000), { authenticate: "none", mode: "tools" });
  const sdk = createMcpHandler(buildServer);
  const cpu: MeasureOptions = { blockTime: 30, warmUp: 2_000, clock: "cpu" };
  const rows = [
    await compare("one call, 2026-07-28", bar, modernCalls(sdk.fetch, "sum"), modernCalls(one.fetch, "bench_sum"), cpu),
    await compare(
      "one call, in a session",
      bar,
      await sessionCalls(serveSession(), "sum"),
      await sessionCalls(one.fetch, "bench_sum"),
      cpu,
    ),
    await compare(
      "1,000 operations ÷ one",
      1.05,
      modernCalls(one.fetch, "bench_sum"),
      modernCalls(many.fetch, "bench_sum"),
      cpu,
    ),
    await compare("100 of 1,000 tools ÷ the SDK", bar, lists(serveList()), lists(many.fetch), cpu),
    await comparePrograms("one call over stdio", connectStdio),
    await comparePrograms("one call over HTTP", connectHTTP),
  ];
  await Promise.all([one.close({ timeout: 0 }), many.close({ timeout: 0 }), sdk.close()]);
  return rows;
}

async function compare(work: string, limit: number, floor: Block, ours: Block, options: MeasureOptions): Promise<Row> {
  const measured = await measure(floor, { ours }, { rounds: 31, ...options });
  const { ns, ratio } = measured.cases.ours;
  const note = `${formatTime(ns)}, the other ${formatTime(measured.floor.ns)}, ${formatNoise(measured)}`;
  return { work, ratio, bar: limit, aim: 1, note };
}

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
};

/** Sends one message again and again. `read` returns the value of a response, which is checked once. */
function requests(fetch: Fetch, message: object, headers: Record<string, string>): Block {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...message });
  const init = {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "content-length": String(body.length),
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body,
  };
  return async (times) => {
    let last = "";
    for (let count = 0; count < times; count++) last = await (await fetch(new Request(address, init))).text();
    return last;
  };
}

function modernCalls(fetch: Fetch, name: string): Block {
  const params = { name, arguments: { a: 19, b: 23 }, _meta: meta };
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name };
  return checked(requests(fetch, { method: "tools/call", params }, headers), '"sum":42');
}

function lists(fetch: Fetch): Block {
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" };
  return checked(requests(fetch, { method: "tools/list", params: { _meta: meta } }, headers), '"bench_sum98"');
}

/** Checks the first response of a block. */
function checked(block: Block, part: string): Block {
  let isChecked = false;
  return async (times) => {
    const last = await block(times);
    if (!isChecked) deepStrictEqual(String(last).includes(part), true);
    isChecked = true;
    return last;
  };
}

async function sessionCalls(fetch: Fetch, name: string): Promise<Block> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1.0.0" } };
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  const opened = await fetch(new Request(address, { method: "POST", headers, body }));
  await opened.text();
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id")!, "mcp-protocol-version": "2025-11-25" };
  const call = { method: "tools/call", params: { name, arguments: { a: 19, b: 23 } } };
  return checked(requests(fetch, call, session), '"sum":42');
}

/** A session of the SDK's server. */
function serveSession(): Fetch {
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => "bench" });
  const connected = buildServer().connect(transport);
  return async (request) => {
    await connected;
    return transport.handleRequest(request);
  };
}

/** The SDK's server with the same page of tools, in memory. */
function serveList(): Fetch {
  let page: unknown;
  const handler = createMcpHandler(() => {
    const server = buildServer();
    server.setRequestHandler("tools/list", () => page as never);
    return server;
  });
  const source = serveMCP(buildRegistry(1_000), { authenticate: "none", mode: "tools" });
  return async (request) => {
    if (page === undefined) {
      const response = (await (await source.fetch(request.clone() as Request)).json()) as { result: object };
      page = response.result;
    }
    return handler.fetch(request);
  };
}

/** A server in its own process, and a client that is connected to it. */
interface Program {
  readonly pid: number;
  readonly client: Client;
  readonly stop?: () => void;
}

type Open = (file: string) => Promise<Program>;

/** Number of processes of each program. Two processes of one program differ by up to 20 %. */
const processes = 3;
const callsPerBlock = 100;
const blocks = 40;

/** Compares the CPU time of servers in their own processes, which neither the client nor a busy machine changes. */
async function comparePrograms(work: string, open: Open): Promise<Row> {
  const programs: { isOurs: boolean; program: Program; call: Block; ticks: number }[] = [];
  try {
    for (let index = 0; index < 2 * processes; index++) {
      const isOurs = index % 2 === 1;
      const program = await open(isOurs ? "serve-mcp-server.mjs" : "mcp-server.mjs");
      const call = clientCalls(program.client, isOurs ? "bench_sum" : "sum");
      programs.push({ isOurs, program, call, ticks: 0 });
      await call(2_000);
    }
    for (let block = 0; block < blocks; block++) {
      for (const one of shuffle(programs)) {
        const before = readTicks(one.program.pid);
        await one.call(callsPerBlock);
        one.ticks += readTicks(one.program.pid) - before;
      }
    }
  } finally {
    await Promise.all(programs.map(({ program }) => program.client.close()));
    for (const { program } of programs) program.stop?.();
  }
  const timesOf = (wanted: boolean) =>
    programs.filter(({ isOurs }) => isOurs === wanted).map(({ ticks }) => (ticks * 1e7) / (blocks * callsPerBlock));
  const [ours, theirs] = [timesOf(true), timesOf(false)];
  const range = (times: number[]) =>
    [...times]
      .sort((x, y) => x - y)
      .map(formatTime)
      .join(", ");
  const note = `CPU time of the server: ${range(ours)}; the other ${range(theirs)}`;
  return { work, ratio: median(ours) / median(theirs), bar, aim: 1, note };
}

/** Returns the CPU time of another process, in units of 10 ms. Only Linux has this file. */
function readTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return Number(fields[11]) + Number(fields[12]); // user and system
}

const connectStdio: Open = async (file) => {
  const program = fileURLToPath(new URL(file, import.meta.url));
  const transport = new StdioClientTransport({ command: process.execPath, args: [program, "stdio"] });
  const client = await connectClient(transport);
  return { pid: transport.pid!, client };
};

const connectHTTP: Open = async (file) => {
  const program = fileURLToPath(new URL(file, import.meta.url));
  const server = spawn(process.execPath, [program, "http"], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = (await once(server.stdout, "data")) as [Buffer];
  const url = new URL(`http://127.0.0.1:${port.toString().trim()}/mcp`);
  const client = await connectClient(new StreamableHTTPClientTransport(url));
  return { pid: server.pid!, client, stop: () => server.kill() };
};

async function connectClient(transport: Transport): Promise<Client> {
  const client = new Client({ name: "bench", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(transport);
  return client;
}

function clientCalls(client: Client, name: string): Block {
  const calls: Block = async (times) => {
    let last: unknown;
    for (let count = 0; count < times; count++) last = await client.callTool({ name, arguments: { a: 19, b: 23 } });
    return JSON.stringify(last);
  };
  return checked(calls, '"sum":42');
}
