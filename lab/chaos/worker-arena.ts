import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createWorkerPool, type WorkerPool } from "@alkdev/operations/transport-worker";
import { bundleProgram } from "../../src/transport/testing.ts";
import { createRecorder } from "../../test/history/index.ts";
import type { Arena, Fault } from "./arena.ts";
import { Seats } from "./seats.ts";
import { insist } from "./within.ts";

const program = new URL("serve-pool.ts", import.meta.url);
const poolSize = 2;

/** Two callers: one with a pool of threads, one with a pool of processes. */
export async function createWorkerArena(folder: string): Promise<Arena> {
  const transport = "worker";
  const recorder = createRecorder(join(folder, `${transport} driver`), `${transport} driver`);
  const pools = new Set<WorkerPool>();
  const seats = new Seats(transport, folder, async (index, name) => {
    const pool = await startPool(index === 0 ? "thread" : "process", folder, `${name} pool`, () => {
      pools.delete(pool);
      // Members may have no time to send a message.
      const members = readdirSync(folder).filter((member) => member.startsWith(`${name} pool member`));
      for (const who of members) recorder.record({ kind: "killed", who });
    });
    pools.add(pool);
    return pool;
  });
  await seats.fill(2);
  return {
    transport,
    get callers() {
      return seats.callers;
    },
    faults: [createDeath(seats, pools), createBlock(seats), seats.createFault(1)],
    async close() {
      await seats.close();
      recorder.close();
    },
  };
}

/** A pool that reports when it is about to close. */
async function startPool(
  kind: "thread" | "process",
  folder: string,
  name: string,
  onClose: () => void,
): Promise<WorkerPool> {
  const told = { pool: name, folder };
  const url = pathToFileURL(await bundleProgram(program));
  const pool = await (kind === "thread"
    ? createWorkerPool(url, { size: poolSize, worker: { workerData: told } })
    : createWorkerPool(url, { kind, size: poolSize, process: { args: [JSON.stringify(told)], execArgv: [] } }));
  const close = pool.close.bind(pool);
  pool.close = (reason) => {
    onClose();
    return close(reason);
  };
  return pool;
}

/** A pool waits longer for each worker that dies in a row: after more deaths than that it would be waited for in vain. */
const deathsPerMinute = 4;

function createDeath(seats: Seats, pools: ReadonlySet<WorkerPool>): Fault {
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
      // A pool waits longer after each death before it starts another member.
      return () => insist(async () => assert([...pools].every(({ size }) => size === poolSize)));
    },
  };
}

/** A member that computes receives nothing, like a stopped process. */
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
