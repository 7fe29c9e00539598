import type { ChildProcess } from "node:child_process";
import { pause, settlesWithin } from "../../../internal/wait.ts";

/** Maximum wait for a killed group, in ms. Without an init process its zombies are never collected. */
const maxWaitAfterKillMs = 1_000;
const pollIntervalMs = 20;

/**
 * A program and all processes that it started. On POSIX it leads its own process group, which includes the descendants
 * of wrappers such as `npx`. Descendants that left the group are found through their parents. A descendant whose parent
 * has already ended, such as a daemon, cannot be found.
 */
export class ProcessGroup {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #stopping: Promise<void> | undefined;
  /** Descendants that left the group, by pid. */
  readonly #detached = new Map<number, ProcessEntry>();

  /** `child` must have been spawned with `detached: true`, except on Windows. */
  constructor(child: ChildProcess, pid: number) {
    this.#child = child;
    this.pid = pid;
    this.#exited = new Promise((resolve) => {
      child.once("exit", () => resolve());
    });
    register(this);
  }

  /**
   * Closes the input, sends SIGTERM after `stop` ms and SIGKILL after another `kill` ms. Resolves when all processes
   * have ended.
   */
  stop(stop: number, kill: number): Promise<void> {
    this.#stopping ??= this.#stop(stop, kill);
    return this.#stopping;
  }

  /**
   * Kills the remaining processes immediately. @param all - The processes of this machine. @default they are listed
   * again
   */
  kill(all = listProcesses()): void {
    this.#findDetached(all);
    this.#signal("SIGKILL");
  }

  async #stop(stop: number, kill: number): Promise<void> {
    // Run this while the program runs: its descendants cannot be found later.
    this.#findDetached(listProcesses());
    this.#child.stdin?.end();
    await settlesWithin(stop, this.#exited);
    if (this.#isLeaderAlive()) this.#findDetached(listProcesses());
    // Descendants that outlive their leader are not given more time, because their output is not read.
    if (this.#isAlive()) {
      this.#signal("SIGTERM");
      await this.#waitForEnd(kill);
    }
    if (this.#isAlive() && !this.#areAllZombies()) {
      this.#signal("SIGKILL");
      await this.#waitForEnd(maxWaitAfterKillMs);
    }
    unregister(this);
  }

  #findDetached(all: readonly ProcessEntry[]): void {
    const members = all.filter(({ group }) => group === this.pid).map(({ pid }) => pid);
    for (const entry of findDescendants([this.pid, ...members, ...this.#detached.keys()], all)) {
      if (entry.group !== this.pid) this.#detached.set(entry.pid, entry);
    }
  }

  #liveDetached(): ProcessEntry[] {
    return [...this.#detached.values()].filter(isStillRunning);
  }

  async #waitForEnd(timeout: number): Promise<void> {
    const end = performance.now() + timeout;
    for (let polls = 1; this.#isAlive() && performance.now() < end; polls++) {
      await pause(pollIntervalMs);
      if (polls % 5 === 0 && this.#areAllZombies()) return;
    }
  }

  #isLeaderAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  #isAlive(): boolean {
    if (process.platform === "win32") return this.#isLeaderAlive();
    try {
      process.kill(-this.pid, 0);
      return true;
    } catch {
      return this.#isLeaderAlive() || this.#liveDetached().length > 0;
    }
  }

  /** Whether only zombie processes are left, as in a container without an init process. */
  #areAllZombies(): boolean {
    const all = listProcesses();
    const members = all.filter(({ group }) => group === this.pid);
    return all.length > 0 && members.every(({ isZombie }) => isZombie) && this.#liveDetached().length === 0;
  }

  #signal(signal: "SIGTERM" | "SIGKILL"): void {
    if (process.platform === "win32") {
      this.#child.kill(signal);
      return;
    }
    send(-this.pid, signal);
    for (const { pid } of this.#liveDetached()) send(pid, signal);
  }
}

function send(target: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(target, signal);
  } catch {
    // The process has already ended.
  }
}

const running = new Set<ProcessGroup>();

function register(group: ProcessGroup): void {
  if (running.size === 0) process.on("exit", killAll);
  running.add(group);
}

function unregister(group: ProcessGroup): void {
  running.delete(group);
  if (running.size === 0) process.off("exit", killAll);
}

/** Kills all programs when this process exits without closing its connections. */
function killAll(): void {
  const all = listProcesses();
  for (const group of running) group.kill(all);
}

/** A process of this machine. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** Start time in the unit of the system. Together with the pid, it identifies a process. */
  readonly start: string;
  /** Whether the process has ended but was not collected yet. */
  readonly isZombie: boolean;
}

/**
 * Lists all processes. Returns an empty array if the system cannot list them. Synchronous, to work while this process
 * exits.
 */
export function listProcesses(): ProcessEntry[] {
  if (process.platform === "win32") return [];
  if (process.platform !== "linux") return listWithPs();
  const { readdirSync } = process.getBuiltinModule("node:fs");
  try {
    const names = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return names.map((name) => readProcess(Number(name))).filter((entry) => entry !== undefined);
  } catch {
    return [];
  }
}

/** Returns the descendants of the given processes, without the processes themselves. */
export function findDescendants(roots: Iterable<number>, all: readonly ProcessEntry[]): ProcessEntry[] {
  const children = new Map<number, ProcessEntry[]>();
  for (const entry of all) {
    const siblings = children.get(entry.parent);
    if (siblings === undefined) children.set(entry.parent, [entry]);
    else siblings.push(entry);
  }
  const seen = new Set(roots);
  const found: ProcessEntry[] = [];
  for (const pid of seen) {
    for (const child of children.get(pid) ?? []) {
      if (seen.has(child.pid)) continue;
      seen.add(child.pid);
      found.push(child);
    }
  }
  return found;
}

/** Whether the process of the entry is still running. Another process with the same pid does not count. */
export function isStillRunning({ pid, start }: ProcessEntry): boolean {
  const entry = process.platform === "linux" ? readProcess(pid) : listProcesses().find((other) => other.pid === pid);
  return entry !== undefined && entry.start === start && !entry.isZombie;
}

function readProcess(pid: number): ProcessEntry | undefined {
  const { readFileSync } = process.getBuiltinModule("node:fs");
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // "pid (name) state parent group …", where the name may contain anything. The start time is field 22.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, parent, group] = fields;
    return {
      pid,
      parent: Number(parent),
      group: Number(group),
      start: fields[19]!,
      isZombie: state === "Z" || state === "X",
    };
  } catch {
    return undefined; // The process ended in the meantime.
  }
}

function listWithPs(): ProcessEntry[] {
  const { execFileSync } = process.getBuiltinModule("node:child_process");
  try {
    const columns = "pid=,ppid=,pgid=,stat=,lstart=";
    const output = execFileSync("ps", ["-A", "-o", columns], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    return output
      .trim()
      .split("\n")
      .map((line) => {
        const [pid, parent, group, state, ...start] = line.trim().split(/\s+/);
        return {
          pid: Number(pid),
          parent: Number(parent),
          group: Number(group),
          start: start.join(" "),
          isZombie: state!.startsWith("Z"),
        };
      });
  } catch {
    return [];
  }
}
