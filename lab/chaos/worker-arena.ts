import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Transport } from "@alkdev/operations";
import { createWorkerTransport } from "@alkdev/operations/transport-worker";
import { bundleProgram } from "../../src/transport/testing.ts";
import { createRecorder } from "../../test/history/index.ts";
import type { Arena, Fault } from "./arena.ts";
import { Seats } from "./seats.ts";

const program = new URL("serve-thread.ts", import.meta.url);

/** Two callers, each with a worker thread that ends with it. */
export async function createWorkerArena(folder: string): Promise<Arena> {
  const transport = "worker";
  const recorder = createRecorder(join(folder, `${transport} driver`), `${transport} driver`);
  const seats = new Seats(transport, folder, (_index, name) =>
    startThread(folder, `${name} thread`, (who) => recorder.record({ kind: "killed", who })),
  );
  await seats.fill(2);
  return {
    transport,
    get callers() {
      return seats.callers;
    },
    faults: [createBlock(seats), seats.createFault(1)],
    async close() {
      await seats.close();
      recorder.close();
    },
  };
}

/** Starts a thread, which has no time to send a message when it is ended. */
async function startThread(folder: string, name: string, onEnd: (name: string) => void): Promise<Transport> {
  const thread = new Worker(await bundleProgram(program), { workerData: { name, folder } });
  const transport = createWorkerTransport(thread);
  const close = transport.close.bind(transport);
  transport.close = async (reason) => {
    onEnd(name);
    await close(reason);
    await thread.terminate();
  };
  return transport;
}

/** A thread that computes receives nothing, like a stopped process. */
function createBlock(seats: Seats): Fault {
  return {
    name: "thread blocked",
    weight: 4,
    isPossible: () => seats.callers.length > 0,
    async inject(random) {
      const input = { ms: random.integer(100, 2_500) };
      const blocked = random.pick(seats.callers).call({ operation: "chaos.block", input });
      return async () => void (await blocked);
    },
  };
}
