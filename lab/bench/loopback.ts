import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** A server on its own thread, so that it does not affect the measurement. */
export interface LoopbackServer {
  origin: string;
  close(): Promise<void>;
}

/**
 * Starts a server. `listener` is the source of a function `(request, response)`. It cannot use variables of this file.
 */
export async function startLoopback(listener: string): Promise<LoopbackServer> {
  const code = `
    const { parentPort } = require("node:worker_threads");
    const server = require("node:http").createServer({ keepAliveTimeout: 60000 }, ${listener});
    server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
  `;
  const worker = new Worker(code, { eval: true });
  const [port] = (await once(worker, "message")) as [number];
  return {
    origin: `http://127.0.0.1:${port}`,
    close: async () => {
      await worker.terminate();
    },
  };
}
