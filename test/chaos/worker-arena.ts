import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createWorkerPool, type WorkerPool } from "@alkdev/operations/transport-worker";
import { createRecorder, type Recorder } from "../history/index.ts";
import type { Arena, Fault } from "./arena.ts";
import { Seats } from "./seats.ts";

const bootstrap = new URL("../support/typescript-worker.mjs", import.meta.url);
const module = new URL("serve-pool.ts", import.meta.url);

/** Two callers: one with a pool of threads, one with a pool of processes. */
export async function createWorkerArena(folder: string): Promise<Arena> {
  const transport = "worker";
  const recorder = createRecorder(join(folder, `${transport} driver`), `${transport} driver`);
  const seats = new Seats(transport, folder, (index, name) =>
    startPool(index === 0 ? "thread" : "process", folder, `${name} pool`, recorder),
  );
  await seats.fill(2);
  return {
    transport,
    get callers() {
      return seats.callers;
    },
    faults: [createDeath(seats), createBlock(seats), seats.createFault(1)],
    async close() {
      await seats.close();
      recorder.close();
    },
  };
}

/** A pool whose members are written down as killed when it is closed: they may have no time to say anything. */
async function startPool(
  kind: "thread" | "process",
  folder: string,
  pool: string,
  recorder: Recorder,
): Promise<WorkerPool> {
  const told = { pool, folder };
  const transport = await (kind === "thread"
    ? createWorkerPool(bootstrap, { size: 2, worker: { workerData: { module: module.href, ...told } } })
    : createWorkerPool(module, {
        kind,
        size: 2,
        process: { args: [JSON.stringify(told)], execArgv: ["--import", "tsx"] },
      }));
  const close = transport.close.bind(transport);
  transport.close = async (reason) => {
    const members = readdirSync(folder).filter((name) => name.startsWith(`${pool} member`));
    for (const who of members) recorder.record({ kind: "killed", who });
    await close(reason);
  };
  return transport;
}

/** A pool starts members again five times in a minute: more deaths than that would leave it without any. */
const deathsPerMinute = 4;

function createDeath(seats: Seats): Fault {
  let deaths: number[] = [];
  return {
    name: "member killed",
    weight: 3,
    isPossible() {
      deaths = deaths.filter((at) => at > performance.now() - 60_000);
      return deaths.length < deathsPerMinute && seats.callers.length > 0;
    },
    async inject(random) {
      deaths.push(performance.now());
      await random.pick(seats.callers).call({ operation: "chaos.die", input: {} });
      return () => {};
    },
  };
}

/** A member that computes hears nothing, as a process that is stopped. */
function createBlock(seats: Seats): Fault {
  return {
    name: "member blocked",
    weight: 4,
    isPossible: () => seats.callers.length > 0,
    async inject(random) {
      const input = { ms: random.integer(100, 2_500) };
      const blocked = random.pick(seats.callers).call({ operation: "chaos.block", input });
      return async () => void (await blocked);
    },
  };
}
