import { type Service, startService } from "./process.ts";

/** Starts a Redis that keeps nothing on disk, or gives `undefined` where there is none to start. */
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
