import type { ChildProcess } from "node:child_process";
import { findDescendants, isStillRunning, listProcesses, type ProcessEntry } from "./processes.ts";

/** How long a killed group is looked at before it counts as gone: nobody may be there to collect its dead. */
const goneAfterKill = 1_000;
const pollEvery = 20;

/**
 * A program and everything it started. On POSIX it leads a process group of its own, so that the descendants of
 * wrappers such as `npx` are reached too. Descendants that left the group are found by their parents; one whose parent
 * ended before that, as daemons do, cannot be found any more.
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
    remember(this);
  }

  /** Asks politely, then firmly, then not at all: closes the input, SIGTERM after `stop` ms, SIGKILL after `kill` more. */
  stop(stop: number, kill: number): Promise<void> {
    this.#stopping ??= this.#stop(stop, kill);
    return this.#stopping;
  }

  /** Kills what is left, at once. @param all - the processes of this machine, where they are known already */
  kill(all = listProcesses()): void {
    this.#findDetached(all);
    this.#signal("SIGKILL");
  }

  async #stop(stop: number, kill: number): Promise<void> {
    // Read while the program runs: its descendants cannot be found later.
    this.#findDetached(listProcesses());
    this.#child.stdin?.end();
    await within(stop, this.#exited);
    if (this.#isLeaderAlive()) this.#findDetached(listProcesses());
    // Descendants that outlive their leader are not waited for: nobody reads what they say.
    if (this.#alive()) {
      this.#signal("SIGTERM");
      await this.#gone(kill);
    }
    if (this.#alive() && !this.#areAllDead()) {
      this.#signal("SIGKILL");
      await this.#gone(goneAfterKill);
    }
    forget(this);
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

  async #gone(timeout: number): Promise<void> {
    const end = performance.now() + timeout;
    for (let polls = 1; this.#alive() && performance.now() < end; polls++) {
      await sleep(pollEvery);
      if (polls % 5 === 0 && this.#areAllDead()) return;
    }
  }

  #isLeaderAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  #alive(): boolean {
    if (process.platform === "win32") return this.#isLeaderAlive();
    try {
      process.kill(-this.pid, 0);
      return true;
    } catch {
      return this.#isLeaderAlive() || this.#liveDetached().length > 0;
    }
  }

  /** Whether only zombie processes are left, as in a container without an init process. */
  #areAllDead(): boolean {
    const all = listProcesses();
    const members = all.filter(({ group }) => group === this.pid);
    return all.length > 0 && members.every(({ isDead }) => isDead) && this.#liveDetached().length === 0;
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
    // It is gone already.
  }
}

const running = new Set<ProcessGroup>();

function remember(group: ProcessGroup): void {
  if (running.size === 0) process.on("exit", killAll);
  running.add(group);
}

function forget(group: ProcessGroup): void {
  running.delete(group);
  if (running.size === 0) process.off("exit", killAll);
}

/** A process that ends without closing its connections must not leave programs behind. */
function killAll(): void {
  const all = listProcesses();
  for (const group of running) group.kill(all);
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function within(milliseconds: number, event: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    event.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
