import { type Service, startService } from "./process.ts";

/** Starts a Redis that keeps nothing on disk, or returns `undefined` where the program is missing. */
export function startRedis(...settings: string[]): Promise<Service | undefined> {
  return startService({
    name: "redis-server",
    args: (port, folder) => [
      ...["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder],
      ...settings,
    ],
    stopSignal: "SIGTERM",
  });
}
