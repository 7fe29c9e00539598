import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

interface Process {
  pid: number;
  parent: number;
  /** The leader of its process group. */
  group: number;
}

/** Lists all running processes. Zombies are not included. */
function listProcesses(): Process[] {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,pgid=,stat="], { encoding: "utf8" }).trim().split("\n");
  const rows = lines.map((line) => line.trim().split(/\s+/));
  return rows
    .filter(([, , , state]) => !state!.startsWith("Z"))
    .map(([pid, parent, group]) => ({ pid: Number(pid), parent: Number(parent), group: Number(group) }));
}

/** Lists all descendants of this process that are in another process group. */
export function listDescendants(): Process[] {
  const all = listProcesses();
  const below = (parent: number): Process[] =>
    all.filter((one) => one.parent === parent).flatMap((one) => [one, ...below(one.pid)]);
  const own = all.find(({ pid }) => pid === process.pid)?.group;
  // `ps` and the loader's helpers are in the group of this process. Servers never are.
  return below(process.pid).filter(({ group }) => group !== own);
}

/** Processes that a server left behind. */
export interface Leftovers {
  /** Processes that still run in a group that should have ended. */
  left: number[];
  /** Processes that the server started in their own group and that still run after five seconds. */
  detached: number[];
  /** Processes that the server started in their own group and that ended within five seconds. */
  late: number[];
}

/** Finds processes that should have ended. `started` are the programs that were started. */
export async function findLeftovers(started: readonly Process[]): Promise<Leftovers> {
  const leaders = new Set(started.filter(({ parent }) => parent === process.pid).map(({ pid }) => pid));
  const remaining = () => {
    const alive = new Set(listProcesses().map(({ pid }) => pid));
    return started.filter(({ pid }) => alive.has(pid));
  };
  const atOnce = remaining();
  const left = atOnce.filter(({ group }) => leaders.has(group)).map(({ pid }) => pid);
  const detached = atOnce.filter(({ group }) => !leaders.has(group)).map(({ pid }) => pid);
  const end = performance.now() + 5_000;
  while (remaining().length > left.length && performance.now() < end) await sleep(100);
  const after = new Set(remaining().map(({ pid }) => pid));
  return {
    left,
    detached: detached.filter((pid) => after.has(pid)),
    late: detached.filter((pid) => !after.has(pid)),
  };
}
