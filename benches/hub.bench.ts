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
const warmUpMs = 2_000;
const blockMs = 700;
const rounds = 9;

/** The floor is `serveHTTP` alone. Its twin is the same program in another process: their distance is the noise. */
const names = ["alone", "twin", "memory", "file"] as const;
type Name = (typeof names)[number];

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
  readonly #child: ChildProcess;

  constructor(name: Name, folder: string) {
    const file = fileURLToPath(new URL("hub-server.mjs", import.meta.url));
    this.#child = fork(file, [name, folder], { execArgv: [] });
  }

  async port(): Promise<number> {
    const [{ port }] = (await once(this.#child, "message")) as [{ port: number }];
    return port;
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
  const servers = new Map(names.map((name) => [name, new BenchServer(name, folder)]));
  try {
    const loads = new Map<Name, Load>();
    for (const [name, server] of servers) {
      const load = await openLoad(await server.port(), request, connections);
      deepStrictEqual(JSON.parse(await load.probe()), { id: "task-1", ...task, done: false }, name);
      loads.set(name, load);
    }
    const perSecond = (await findPeak(loads, servers)) / 2;
    const samples = new Map(names.map((name): [Name, number[]] => [name, []]));
    for (let round = 0; round < rounds; round++) {
      for (const name of shuffle([...names])) {
        samples.get(name)!.push(await measure(loads.get(name)!, servers.get(name)!, perSecond));
      }
    }
    for (const load of loads.values()) load.close();
    const floor = lowerQuartile(samples.get("alone")!);
    const ratio = (name: Name) => lowerQuartile(samples.get(name)!) / floor;
    const note = (name: Name) =>
      `${formatTime(floor * ratio(name))} of CPU at ${perSecond.toFixed(0)}/s; alone ${formatTime(floor)}; twin ${ratio("twin").toFixed(3)}`;
    return [
      { work: "a call to a hub, history in memory", ratio: ratio("memory"), bar: 1.1, note: note("memory") },
      { work: "a call to a hub, history in a file", ratio: ratio("file"), bar: 1.1, note: note("file") },
    ];
  } finally {
    for (const server of servers.values()) server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Warms all servers up and returns the requests per second that `serveHTTP` alone can take. */
async function findPeak(loads: ReadonlyMap<Name, Load>, servers: ReadonlyMap<Name, BenchServer>): Promise<number> {
  let peak = 0;
  for (const [name, load] of loads) {
    const server = servers.get(name)!;
    const isWarm = (await server.cpuMs()) + warmUpMs;
    for (let last = 0; last < isWarm; last = await server.cpuMs()) {
      const start = performance.now();
      await load.run(1_000);
      if (name === "alone") peak = 1_000_000 / (performance.now() - start);
    }
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
