/** Test helpers for all folders, independent of operations. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

/** Timeout of a test or hook, in ms. It ends tests that hang, so it is far above what a test takes on a busy machine. */
export const testTimeoutMs = 120_000;

/** Maximum time that a test waits for a condition, in ms. Shorter than the test timeout, so that the condition is reported. */
export const waitTimeoutMs = 30_000;

/** Returns the number of generated cases of a property: four times as many in a run with `FC_SEED=random`, which tries new ones. */
export function countCases(count: number): number {
  return process.env["FC_SEED"] === "random" ? 4 * count : count;
}

/** A promise and the functions that settle it. */
export function deferred<T = void>(): { promise: Promise<T>; resolve(value: T): void; reject(error: unknown): void } {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/** Waits for some milliseconds. */
export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Waits until a condition is true. A condition that throws is not true yet. On timeout it rejects with the last error as cause. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + waitTimeoutMs;
  for (;;) {
    let problem: unknown;
    try {
      if (await holds()) return;
    } catch (error) {
      problem = error;
    }
    if (performance.now() > end)
      throw new Error(`The condition was not met within ${waitTimeoutMs} ms.`, { cause: problem });
    await sleep(5);
  }
}

/**
 * Ports of servers that are stopped and started again on the same port. They are below the range from which systems
 * assign ports, so that no other server gets one meanwhile. Each process starts its search at its own place.
 */
const ports = { first: 10_240, perProcess: 16, processes: 1_400 };
let tried = 0;

/** Returns a free port that neither the system nor another process of the tests assigns while its server is stopped. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const place = (process.pid + Math.floor(tried / ports.perProcess)) % ports.processes;
    const port = ports.first + place * ports.perProcess + (tried % ports.perProcess);
    tried += 1;
    if ((await reserve(port)) && (await isFree(port))) return port;
  }
}

/** Reserves a port until this process ends. The process that has the UDP port of the same number may use it. */
async function reserve(port: number): Promise<boolean> {
  const socket = createSocket("udp4");
  const isReserved = await new Promise<boolean>((resolve) => {
    socket.once("listening", () => resolve(true)).once("error", () => resolve(false));
    socket.bind({ port, address: "127.0.0.1", exclusive: true });
  });
  if (isReserved) socket.unref(); // A reservation must not keep the process alive.
  return isReserved;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const isListening = await new Promise<boolean>((resolve) => {
    server.once("listening", () => resolve(true)).once("error", () => resolve(false));
    server.listen(port, "127.0.0.1");
  });
  if (!isListening) return false;
  server.close();
  await once(server, "close");
  return true;
}
