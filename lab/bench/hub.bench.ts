import { deepStrictEqual } from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Load, openLoad, type RawRequest } from "./http-load.ts";
import { shuffle } from "./measure.ts";
import { formatTime, type Row } from "./table.ts";

const connections = 32;
/** Requests are sent in groups, this often. */
const groupMs = 5;
/** CPU time that warms each server up, in ms. */
const warmUpMs = 1_500;
const blockMs = 700;
const rounds = 5;

/** The floor is `serveHTTP` alone. */
const names = ["alone", "memory", "file"] as const;
type Name = (typeof names)[number];

/** Number of processes of each program: the same program takes up to 10 % more time in one process than in another. */
const processes = 3;

const task = { title: "Write the report", priority: 3 };
const request: RawRequest = {
  method: "POST",
  target: "/task/create",
  headers: {
    authorization: "Bearer a-token-of-the-bench-with-enough-characters",
    "content-type": "application/json",
  },
  body: JSON.stringify(task),
};

/** A server in its own process. */
class BenchServer {
  readonly name: Name;
  readonly #child: ChildProcess;
  #port = 0;
  /** CPU time of a call, in ns, in each round. */
  readonly samples: number[] = [];

  constructor(name: Name, folder: string) {
    const file = fileURLToPath(new URL("hub-server.mjs", import.meta.url));
    this.name = name;
    this.#child = fork(file, [name, mkdtempSync(join(folder, name))], { execArgv: [] });
  }

  /** Waits until it listens. */
  async start(): Promise<void> {
    const [{ port }] = (await once(this.#child, "message")) as [{ port: number }];
    this.#port = port;
  }

  /** Runs a part of the bench with new connections, because a server closes those that were not used for some seconds. */
  async withLoad<T>(run: (load: Load) => Promise<T>): Promise<T> {
    const load = await openLoad(this.#port, request, connections);
    try {
      return await run(load);
    } finally {
      load.close();
    }
  }

  async cpuMs(): Promise<number> {
    this.#child.send("cpu");
    const [{ cpuMs }] = (await once(this.#child, "message")) as [{ cpuMs: number }];
    return cpuMs;
  }

  close(): void {
    this.#child.kill();
  }
}

/**
 * Measures the CPU time of a call to a hub that records calls, at half of the load that `serveHTTP` alone can take. The
 * hub identifies callers, checks their scopes and records each call, in memory or in a file.
 */
export async function run(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "bench-hub-"));
  const servers = Array.from({ length: processes }, () => names.map((name) => new BenchServer(name, folder))).flat();
  try {
    for (const server of servers) {
      await server.start();
      const body = await server.withLoad((load) => load.probe());
      deepStrictEqual(JSON.parse(body), { id: "task-1", ...task, done: false }, server.name);
    }
    const perSecond = (await findPeak(servers)) / 2;
    for (let round = 0; round < rounds; round++) {
      for (const server of shuffle([...servers])) {
        server.samples.push(await server.withLoad((load) => measure(load, server, perSecond)));
      }
    }
    /** CPU time of a call in each process of a program, the fastest first. */
    const times = (name: Name) =>
      servers
        .filter((server) => server.name === name)
        .map(({ samples }) => lowerQuartile(samples))
        .sort((one, other) => one - other);
    const middle = (name: Name) => times(name)[processes >> 1]!;
    const floor = middle("alone");
    const note = (name: Name) =>
      `${times(name).map(formatTime).join(", ")} of CPU at ${perSecond.toFixed(0)}/s; alone ${times("alone").map(formatTime).join(", ")}`;
    const toRow = (name: Name, work: string): Row => ({
      work,
      ratio: middle(name) / floor,
      bar: 1.1,
      note: note(name),
    });
    return [toRow("memory", "a call to a hub, history in memory"), toRow("file", "a call to a hub, history in a file")];
  } finally {
    for (const server of servers) server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Warms all servers up and returns the requests per second that `serveHTTP` alone can take. */
async function findPeak(servers: readonly BenchServer[]): Promise<number> {
  let peak = 0;
  for (const server of servers) {
    const isWarm = (await server.cpuMs()) + warmUpMs;
    await server.withLoad(async (load) => {
      for (let last = 0; last < isWarm; last = await server.cpuMs()) {
        const start = performance.now();
        await load.run(1_000);
        if (server.name === "alone") peak = 1_000_000 / (performance.now() - start);
      }
    });
  }
  return peak;
}

/** Sends requests at a rate and returns the CPU time of the server for one of them, in ns. */
async function measure(load: Load, server: BenchServer, perSecond: number): Promise<number> {
  const before = await server.cpuMs();
  const start = performance.now();
  let sent = 0;
  for (let elapsed = 0; elapsed < blockMs; elapsed = performance.now() - start) {
    const due = Math.ceil((perSecond * (elapsed + groupMs)) / 1_000) - sent;
    sent += due;
    await load.run(due);
    const rest = elapsed + groupMs - (performance.now() - start);
    if (rest > 0) await setTimeout(rest);
  }
  return (((await server.cpuMs()) - before) * 1e6) / sent;
}

/** Returns the value that a quarter of the values do not exceed. Other programs only ever add CPU time to a block. */
function lowerQuartile(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[values.length >> 2]!;
}
