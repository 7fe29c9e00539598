import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Service, startService } from "./process.ts";

/** Starts a NATS server, or returns `undefined` where the program is missing. `config` is in its own language. */
export async function startNATS(config = ""): Promise<Service | undefined> {
  return startService({
    name: "nats-server",
    args: (port, folder) => {
      const file = join(folder, "server.conf");
      writeFileSync(file, config);
      return ["-a", "127.0.0.1", "-p", String(port), "-c", file];
    },
    stopSignal: "SIGINT",
  });
}
