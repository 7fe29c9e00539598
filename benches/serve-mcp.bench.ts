import { deepStrictEqual } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createMcpHandler, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { importBuilt } from "./built.ts";
import { buildServer } from "./mcp-server.mjs";
import { type Block, formatNoise, type MeasureOptions, measure } from "./measure.ts";
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
  const cpu: MeasureOptions = { blockTime: 20, warmUp: 1_000, clock: "cpu" };
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
    await comparePrograms("one call over stdio", (file) => Promise.resolve(startProgram(file))),
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

type Open = (file: string) => Promise<{ transport: Transport; stop?: () => void }>;

async function comparePrograms(work: string, open: Open): Promise<Row> {
  const [theirs, ours] = [await open("mcp-server.mjs"), await open("serve-mcp-server.mjs")];
  const [floor, block] = [await clientCalls(theirs.transport, "sum"), await clientCalls(ours.transport, "bench_sum")];
  try {
    return await compare(work, bar, floor.calls, block.calls, { blockTime: 40, warmUp: 2_000 });
  } finally {
    await Promise.all([floor.client.close(), block.client.close()]);
    for (const { stop } of [theirs, ours]) stop?.();
  }
}

function startProgram(file: string): { transport: Transport } {
  const program = fileURLToPath(new URL(file, import.meta.url));
  return { transport: new StdioClientTransport({ command: process.execPath, args: [program, "stdio"] }) };
}

const connectHTTP: Open = async (file) => {
  const program = fileURLToPath(new URL(file, import.meta.url));
  const server = spawn(process.execPath, [program, "http"], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = (await once(server.stdout, "data")) as [Buffer];
  const url = new URL(`http://127.0.0.1:${port.toString().trim()}/mcp`);
  return { transport: new StreamableHTTPClientTransport(url), stop: () => server.kill() };
};

async function clientCalls(transport: Transport, name: string): Promise<{ client: Client; calls: Block }> {
  const client = new Client({ name: "bench", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(transport);
  const calls: Block = async (times) => {
    let last: unknown;
    for (let count = 0; count < times; count++) last = await client.callTool({ name, arguments: { a: 19, b: 23 } });
    return JSON.stringify(last);
  };
  return { client, calls: checked(calls, '"sum":42') };
}
