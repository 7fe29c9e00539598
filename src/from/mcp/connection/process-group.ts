import type { ChildProcess } from "node:child_process";

/** How long a killed group is looked at before it counts as gone: nobody may be there to collect its dead. */
const goneAfterKill = 1_000;
const pollEvery = 20;

/**
 * A program and everything it started. On POSIX it leads a process group of its own, so that the descendants of
 * wrappers such as `npx` are reached too.
 */
export class ProcessGroup {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #stopping: Promise<void> | undefined;

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

  /** Kills what is left, at once. */
  kill(): void {
    this.#signal("SIGKILL");
  }

  async #stop(stop: number, kill: number): Promise<void> {
    this.#child.stdin?.end();
    await within(stop, this.#exited);
    // Descendants that outlive their leader are not waited for: nobody reads what they say.
    if (this.#alive()) {
      this.#signal("SIGTERM");
      await this.#gone(kill);
    }
    if (this.#alive() && !(await areAllDead(this.pid))) {
      this.#signal("SIGKILL");
      await this.#gone(goneAfterKill);
    }
    forget(this);
  }

  async #gone(timeout: number): Promise<void> {
    const end = performance.now() + timeout;
    for (let polls = 1; this.#alive() && performance.now() < end; polls++) {
      await sleep(pollEvery);
      if (polls % 5 === 0 && (await areAllDead(this.pid))) return;
    }
  }

  #alive(): boolean {
    const leader = this.#child.exitCode === null && this.#child.signalCode === null;
    if (process.platform === "win32") return leader;
    try {
      process.kill(-this.pid, 0);
      return true;
    } catch {
      return leader;
    }
  }

  #signal(signal: "SIGTERM" | "SIGKILL"): void {
    try {
      if (process.platform === "win32") this.#child.kill(signal);
      else process.kill(-this.pid, signal);
    } catch {
      // All of them are gone already.
    }
  }
}

/**
 * Whether what is left of a group are dead processes that nobody collects, as in a container without an init. Linux
 * only; elsewhere it is not known.
 */
async function areAllDead(group: number): Promise<boolean> {
  if (process.platform !== "linux") return false;
  const { readdir, readFile } = await import("node:fs/promises");
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")));
  // "pid (name) state parent group …", and a name may hold anything.
  const members = stats
    .map((stat) => stat.slice(stat.lastIndexOf(")") + 2).split(" "))
    .filter((fields) => fields[2] === String(group));
  return pids.length > 0 && members.every(([state]) => state === "Z" || state === "X");
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
  for (const group of running) group.kill();
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
