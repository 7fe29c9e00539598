import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Transport } from "@alkdev/operations";
import { createWorkerPool } from "@alkdev/operations/transport-worker";
import { createRecorder, type Recorder } from "../history/index.ts";
import type { Arena, Fault } from "./arena.ts";
import { Seats } from "./seats.ts";

const bootstrap = new URL("../support/typescript-worker.mjs", import.meta.url);
const module = new URL("serve-thread.ts", import.meta.url).href;

/** One caller and its pool of two threads. */
export async function createWorkerArena(folder: string): Promise<Arena> {
  const transport = "worker";
  const recorder = createRecorder(join(folder, `${transport} driver`), `${transport} driver`);
  const seats = new Seats(transport, folder, (_index, name) => startPool(folder, `${name} pool`, recorder));
  await seats.fill(1);
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

/** A pool whose threads are written down as killed when it is closed: they have no time to say anything. */
async function startPool(folder: string, pool: string, recorder: Recorder): Promise<Transport> {
  const transport = await createWorkerPool(bootstrap, { size: 2, worker: { workerData: { module, pool, folder } } });
  const close = transport.close.bind(transport);
  transport.close = async (reason) => {
    const threads = readdirSync(folder).filter((name) => name.startsWith(`${pool} thread`));
    for (const who of threads) recorder.record({ kind: "killed", who });
    await close(reason);
  };
  return transport;
}

/** A pool starts threads again five times in a minute: more deaths than that would leave it without any. */
const deathsPerMinute = 4;

function createDeath(seats: Seats): Fault {
  let deaths: number[] = [];
  return {
    name: "thread killed",
    weight: 3,
    async inject(random) {
      deaths = deaths.filter((at) => at > performance.now() - 60_000);
      if (deaths.length >= deathsPerMinute || seats.callers.length === 0) return undefined;
      deaths.push(performance.now());
      await random.pick(seats.callers).call({ operation: "chaos.die", input: {} });
      return () => {};
    },
  };
}

/** A thread that computes hears nothing, as a process that is stopped. */
function createBlock(seats: Seats): Fault {
  return {
    name: "thread blocked",
    weight: 4,
    async inject(random) {
      if (seats.callers.length === 0) return undefined;
      const blocked = random
        .pick(seats.callers)
        .call({ operation: "chaos.block", input: { ms: random.integer(100, 2_500) } });
      return async () => void (await blocked);
    },
  };
}
