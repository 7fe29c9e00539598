import { readFileSync } from "node:fs";
import { createClient } from "@redis/client";
import type { BrokerName } from "../../test/faults/brokers.ts";
import { startNATS } from "../../test/services/nats.ts";
import type { Service } from "../../test/services/process.ts";
import { startRedis } from "../../test/services/redis.ts";

/** A broker whose size is watched. */
export interface Broker extends AsyncDisposable {
  readonly port: number;
  /** Forgets how large it has been. */
  restart(): void;
  /** How much larger it has been since, in bytes. 0 where that cannot be read. */
  peakGrowth(): number;
  /** What peers left in it. */
  leftovers(): Promise<string[]>;
}

/** Starts a broker, or returns `undefined` where the program is missing. */
export async function startBroker(name: BrokerName): Promise<Broker | undefined> {
  const service = await (name === "nats" ? startNATS() : startRedis());
  if (service === undefined) return undefined;
  let start = 0;
  let peak = 0;
  const look = () => {
    peak = Math.max(peak, readRSS(service));
  };
  const timer = setInterval(look, 100);
  return {
    port: service.port,
    restart() {
      start = readRSS(service);
      peak = start;
    },
    peakGrowth() {
      look();
      return peak - start;
    },
    leftovers: async () => (name === "redis" ? listKeys(service.port) : []),
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await service.close();
    },
  };
}

function readRSS({ pid }: Service): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0; // only Linux has it
  }
}

async function listKeys(port: number): Promise<string[]> {
  const client = createClient({ url: `redis://127.0.0.1:${port}`, RESP: 2 });
  await client.connect();
  const keys = (await client.sendCommand(["KEYS", "*"])) as unknown as string[];
  await client.close();
  return keys;
}
