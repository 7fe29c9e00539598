import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Load, openIdle, openLoad, type RawRequest } from "./http-load.ts";
import { median, shuffle } from "./measure.ts";
import type { DocumentCost } from "./serve-http-document-child.ts";
import { formatTime, type Row } from "./table.ts";

const connections = 32;
const streams = 4;
const eventsPerStream = 10_000;
const idleStreams = 500;
const documentRounds = 5;

const authorization = "Bearer a-token-of-the-bench-with-enough-characters";
const input = { title: "Write the report", priority: 3 };
const task = { id: "task-1", ...input, done: false };
const query = `title=${encodeURIComponent(input.title)}&priority=3`;

/** The floor is "by hand". */
const names = ["by hand", "ours", "node:http", "Hono", "Fastify", "oRPC", "oRPC on node:http", "tRPC"] as const;
type Name = (typeof names)[number];

/** Two processes of one program differ by up to 20 %, so those that are compared closely run in several. */
const processes = { "by hand": 3, ours: 3 } as const;

/** Figures of one subject. */
interface Figures {
  /** CPU time of the server for one request or event, in ns. */
  ns: number;
  /** CPU time of this server divided by that of the floor. */
  ratio: number;
  /** Requests or events per second, by the clock on the wall. */
  perSecond: number;
  /** The CPU times of its processes divided by their median, from the least to the greatest. */
  spread: readonly number[];
}

/** A server in its own process. */
class Server {
  readonly name: Name;
  port = 0;
  readonly #child: ChildProcess;

  constructor(name: Name) {
    this.name = name;
    const file = fileURLToPath(new URL("serve-http-server.mjs", import.meta.url));
    // Without the loader of this process, so that the built package runs as users run it.
    this.#child = fork(file, [name], { execArgv: ["--expose-gc"] });
  }

  async start(): Promise<this> {
    const [{ port }] = (await once(this.#child, "message")) as [{ port: number }];
    this.port = port;
    return this;
  }

  async read(figure: "cpu" | "memory"): Promise<{ cpuMs: number; bytes: number }> {
    this.#child.send(figure);
    const [figures] = (await once(this.#child, "message")) as [{ cpuMs: number; bytes: number }];
    return figures;
  }

  close(): void {
    this.#child.kill();
  }
}

/**
 * Measures calls and streams of `serveHTTP` against handwritten code on the same listener, and against other servers.
 * Counts the CPU time of the server's process: with one thread, this is what limits requests per second, and neither
 * the load generator nor a busy machine changes it.
 */
export async function run(): Promise<Row[]> {
  const servers: Server[] = [];
  try {
    for (const name of names) {
      const count = name === "by hand" || name === "ours" ? processes[name] : 1;
      for (let index = 0; index < count; index++) servers.push(await new Server(name).start());
    }
    return [
      ...(await compareCalls("small QUERY", servers, toQuery)),
      ...(await compareCalls("small MUTATION", servers, toMutation)),
      await compareStreams(servers),
      await weighIdleStreams(servers),
      ...(await measureDocument()),
    ];
  } finally {
    for (const server of servers) server.close();
  }
}

function toQuery(name: Name): RawRequest {
  const asJSON = encodeURIComponent(JSON.stringify(input));
  const target = name === "tRPC" ? `/task.find?input=${asJSON}` : `/task/find?${query}`;
  return { method: "GET", target, headers: { authorization } };
}

function toMutation(name: Name): RawRequest {
  const target = name === "tRPC" ? "/task.create" : "/task/create";
  const headers = { authorization, "content-type": "application/json" };
  return { method: "POST", target, headers, body: JSON.stringify(input) };
}

async function compareCalls(
  work: string,
  servers: readonly Server[],
  toRequest: (name: Name) => RawRequest,
): Promise<Row[]> {
  const open = async ({ name, port }: Server) => {
    const load = await openLoad(port, toRequest(name), connections);
    const body = JSON.parse(await load.probe());
    deepStrictEqual(name === "tRPC" ? body.result.data : body, task, name);
    return load;
  };
  const figures = await measureLoads(servers, open, { warmUpMs: 2_000, blockMs: 80, rounds: 15 });
  const of = (name: Name) => figures.get(name)!;
  const ours = of("ours");
  const byHand = of("by hand");
  const rate = ({ ns, perSecond }: Figures) => `${formatTime(ns)} of CPU, ${perSecond.toFixed(0)}/s`;
  const relative = (name: Name) => `${name} ${(1 / of(name).ratio).toFixed(2)}`;
  return [
    {
      work: `${work}, ${connections} connections, to by hand`,
      ratio: ours.ratio,
      bar: 1 / 0.9,
      note: `${(1 / ours.ratio).toFixed(2)} of by hand; ${rate(ours)}; by hand ${rate(byHand)}; ${formatSpread(ours, byHand)}`,
    },
    {
      work: `${work} to oRPC`,
      ratio: ours.ratio / of("oRPC").ratio,
      bar: 0.5,
      note: `${(of("oRPC").ratio / ours.ratio).toFixed(2)} × oRPC; ${rate(of("oRPC"))}; oRPC on node:http ${rate(of("oRPC on node:http"))}`,
    },
    {
      work: `${work} to tRPC`,
      ratio: ours.ratio / of("tRPC").ratio,
      bar: 1,
      note: `${(of("tRPC").ratio / ours.ratio).toFixed(2)} × tRPC; ${rate(of("tRPC"))}. In units of by hand: ${relative("node:http")}, ${relative("Hono")}, ${relative("Fastify")}`,
    },
  ];
}

async function compareStreams(servers: readonly Server[]): Promise<Row> {
  const subjects = servers.filter(({ name }) => name === "by hand" || name === "ours" || name === "node:http");
  const request: RawRequest = { method: "GET", target: "/market/ticks", headers: { authorization } };
  let body: string | undefined;
  const open = async ({ name, port }: Server) => {
    const load = await openLoad(port, request, streams);
    const received = await load.probe();
    body ??= received;
    strictEqual(received, body, `${name} writes the same bytes`);
    return load;
  };
  const figures = await measureLoads(subjects, open, { warmUpMs: 800, blockMs: 150, rounds: 9 });
  const events = (name: Name) => {
    const { ns, perSecond } = figures.get(name)!;
    return `${formatTime(ns / eventsPerStream)} of CPU, ${(perSecond * eventsPerStream).toFixed(0)}/s`;
  };
  const ours = figures.get("ours")!;
  return {
    work: "an SSE event, to writing the same bytes by hand",
    ratio: ours.ratio,
    bar: 1 / 0.6,
    note: `${(1 / ours.ratio).toFixed(2)} of by hand; ${events("ours")}; by hand ${events("by hand")}; node:http ${events("node:http")}; ${formatSpread(ours, figures.get("by hand")!)}`,
  };
}

/** Describes how much the processes of one program differ. */
function formatSpread(ours: Figures, byHand: Figures): string {
  const range = ({ spread }: Figures) => `${spread[0]!.toFixed(2)}–${spread.at(-1)!.toFixed(2)}`;
  return `processes differ by ${range(ours)} and ${range(byHand)}`;
}

async function weighIdleStreams(servers: readonly Server[]): Promise<Row> {
  const weigh = async (name: Name) => {
    const server = servers.find((candidate) => candidate.name === name)!;
    const request: RawRequest = { method: "GET", target: "/market/silence", headers: { authorization } };
    const open = () => Promise.all(Array.from({ length: idleStreams }, () => openIdle(server.port, request)));
    // The first streams compile code and fill pools, so they are not counted.
    const first = await open();
    const { bytes: before } = await server.read("memory");
    const second = await open();
    const { bytes: after } = await server.read("memory");
    for (const socket of [...first, ...second]) socket.destroy();
    return (after - before) / idleStreams / 1_024;
  };
  const bare = await weigh("node:http");
  const ours = await weigh("ours");
  return {
    work: "an idle stream, above node:http",
    ratio: ours - bare,
    unit: "KiB",
    bar: 7,
    note: `${ours.toFixed(1)} KiB, node:http ${bare.toFixed(1)} KiB, ${idleStreams} streams`,
  };
}

/** Options of a measurement. */
interface LoadOptions {
  /** CPU time that warms each server up, in ms. */
  warmUpMs: number;
  /** CPU time of one block, in ms. It determines the number of requests. */
  blockMs: number;
  /** Number of rounds. Each round measures every server, in a new random order. */
  rounds: number;
}

async function measureLoads(
  servers: readonly Server[],
  open: (server: Server) => Promise<Load>,
  { warmUpMs, blockMs, rounds }: LoadOptions,
): Promise<Map<Name, Figures>> {
  const loads = new Map<Server, Load>();
  const counts = new Map<Server, number>();
  for (const server of servers) {
    const load = await open(server);
    loads.set(server, load);
    counts.set(server, await warmUp(load, server, warmUpMs, blockMs)); // Now: servers close connections without requests.
  }
  const samples = new Map([...loads.keys()].map((server) => [server, [] as { ns: number; perSecond: number }[]]));
  for (let round = 0; round < rounds; round++) {
    for (const [server, load] of shuffle([...loads])) {
      const count = counts.get(server)!;
      const { cpuMs, wallMs } = await runBlock(load, server, count);
      samples.get(server)!.push({ ns: (cpuMs * 1e6) / count, perSecond: (count * 1_000) / wallMs });
    }
  }
  for (const load of loads.values()) load.close();
  const timesOf = (name: Name) =>
    [...samples]
      .filter(([server]) => server.name === name)
      .map(([, own]) => lowerQuartile(own.map(({ ns }) => ns)))
      .sort((a, b) => a - b);
  const floor = median(timesOf("by hand"));
  const figures = new Map<Name, Figures>();
  for (const [{ name }, own] of samples) {
    const times = timesOf(name);
    const ns = median(times);
    const perSecond = median(own.map((sample) => sample.perSecond));
    figures.set(name, { ns, ratio: ns / floor, perSecond, spread: times.map((time) => time / ns) });
  }
  return figures;
}

/** Returns the value that a quarter of the values do not exceed. Other programs only ever add CPU time to a block. */
function lowerQuartile(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 2]!;
}

/** Returns the number of requests that take the CPU time of one block. */
async function warmUp(load: Load, server: Server, warmUpMs: number, blockMs: number): Promise<number> {
  let count = 8;
  for (let spent = 0; spent < warmUpMs; ) {
    const { cpuMs } = await runBlock(load, server, count);
    spent += cpuMs;
    count = Math.max(4, Math.ceil(count * Math.min(8, blockMs / Math.max(cpuMs, 1))));
  }
  return count;
}

async function runBlock(load: Load, server: Server, count: number): Promise<{ cpuMs: number; wallMs: number }> {
  const before = await server.read("cpu");
  const start = performance.now();
  await load.run(count);
  const wallMs = performance.now() - start;
  const after = await server.read("cpu");
  return { cpuMs: after.cpuMs - before.cpuMs, wallMs };
}

/** Measures the document of 1,000 operations, each time in a fresh process. */
async function measureDocument(): Promise<Row[]> {
  const costs: DocumentCost[] = [];
  for (let round = 0; round < documentRounds; round++) costs.push(await documentInChild());
  const first = median(costs.map(({ firstMs }) => firstMs));
  const next = median(costs.map(({ nextMs }) => nextMs));
  const length = `${(costs[0]!.bytes / 1_024).toFixed(0)} KiB`;
  return [
    { work: "the document of 1,000 operations", ratio: first, unit: "ms", bar: 80, note: `CPU time; ${length}` },
    { work: "the same document again", ratio: next, unit: "ms", bar: 10, note: "CPU time, from the cache" },
  ];
}

function documentInChild(): Promise<DocumentCost> {
  const child = fork(fileURLToPath(new URL("serve-http-document-child.ts", import.meta.url)));
  return new Promise((resolve, reject) => {
    child.on("message", (message) => resolve(message as DocumentCost));
    child.on("exit", (code) => reject(new Error(`The document's process ended with exit code ${code}.`)));
  });
}
