import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createRecorder, type HistoryEvent, readHistory } from "../../test/history/index.ts";
import type { Arena, TransportName } from "./arena.ts";
import { createBrokerArena } from "./broker-arena.ts";
import { Campaign } from "./campaign.ts";
import { watchProcess } from "./instruments.ts";
import { Random } from "./random.ts";
import { createWebSocketArena } from "./websocket-arena.ts";
import { createWorkerArena } from "./worker-arena.ts";

/** Options of a chaos run. */
export interface ChaosOptions {
  /** How long calls are made, in ms. */
  duration: number;
  seed: number;
  transports: readonly TransportName[];
  /** Ends the run early. Everything is still closed, and the history is complete. */
  signal: AbortSignal;
  /** Receives lines about the progress. */
  onProgress(line: string): void;
}

/** Interval of progress reports, in ms. */
const progressInterval = 3_000;
/** Time for which calls are made after the last fault, in ms, to observe the recovery. */
const quiet = 6_000;
/** So many calls are made in one run at most, for each transport: the history must fit into memory. */
const mostCalls = 100_000;
/** Calls in a second, for each transport. */
const fastest = 80;

/** Makes calls over the transports while parts fail, and returns everything that happened. */
export async function runChaos(options: ChaosOptions): Promise<HistoryEvent[]> {
  const { duration, seed, transports, signal, onProgress } = options;
  const folder = mkdtempSync(join(tmpdir(), "chaos-"));
  const recorder = createRecorder(join(folder, "driver"), "driver");
  const stopWatching = watchProcess(recorder);
  try {
    const before = countResources();
    const random = new Random(seed);
    const arenas = (
      await Promise.all(transports.map((name) => openArena(name, folder, random.fork(`${name} world`))))
    ).filter((arena) => arena !== undefined);
    const campaigns = arenas.map(
      (arena) =>
        new Campaign(arena, random.fork(arena.transport), recorder, Math.min(fastest, mostCalls / (duration / 1_000))),
    );
    const timer = setInterval(
      () => onProgress(campaigns.map((campaign) => campaign.toString()).join("  ")),
      progressInterval,
    );
    const loud = endAfter(Math.max(0, duration - quiet), signal);
    const all = endAfter(duration, signal);
    await Promise.all(campaigns.map((campaign) => campaign.run(loud, all)));
    clearInterval(timer);
    onProgress("closing everything");
    await Promise.all(arenas.map((arena) => arena.close()));
    recorder.record({ kind: "closed", who: "driver", left: await findLeft(before) });
  } finally {
    stopWatching();
    recorder.close();
  }
  const history = readHistory(readdirSync(folder).map((name) => join(folder, name)));
  rmSync(folder, { recursive: true });
  return history;
}

/** A signal that fires after so many ms, or with another. Node loses `AbortSignal.any` of a timeout at a collection. */
function endAfter(milliseconds: number, signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), milliseconds);
  const end = () => {
    clearTimeout(timer);
    controller.abort();
  };
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  return controller.signal;
}

async function openArena(name: TransportName, folder: string, random: Random): Promise<Arena | undefined> {
  if (name === "worker") return createWorkerArena(folder);
  if (name === "websocket") return createWebSocketArena(folder, random);
  return createBrokerArena(name, folder, random);
}

/** What keeps a process alive or costs a descriptor, by kind. */
function countResources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    if (/Socket|Server|Pipe|Process|MessagePort|Worker/.test(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

/** What is there now and was not before; half a minute is granted to what is just going. */
async function findLeft(before: ReadonlyMap<string, number>): Promise<string[]> {
  for (let attempt = 0; ; attempt++) {
    const left = [...countResources()]
      .filter(([kind, count]) => count > (before.get(kind) ?? 0))
      .map(([kind, count]) => `${count - (before.get(kind) ?? 0)} ${kind}`);
    if (left.length === 0 || attempt >= 300) return left;
    await delay(100);
  }
}
