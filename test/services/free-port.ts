import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Where servers listen that are ended and started again at the same place: below the ports that systems give to
 * everybody who does not care. Processes look in places of their own.
 */
const ports = { first: 10_240, forEach: 16, processes: 1_400 };
let tried = 0;

/** A port that is free now, and that nobody is given while the server is away. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const place = (process.pid + Math.floor(tried / ports.forEach)) % ports.processes;
    const port = ports.first + place * ports.forEach + (tried % ports.forEach);
    tried += 1;
    if (await isFree(port)) return port;
  }
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
