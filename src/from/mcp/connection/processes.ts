/** A process of this machine. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** When it was started, in whatever unit the system has: with the pid it names one process for good. */
  readonly start: string;
  /** It has ended, and was not collected yet. */
  readonly isDead: boolean;
}

/** All processes, or none where the system cannot say. Synchronous, so that it works while this process exits. */
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

/** Everything below the given processes, children of children included. The given ones are not part of it. */
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

/** Whether the very process of the entry still runs, and not another that got its number. */
export function isStillRunning({ pid, start }: ProcessEntry): boolean {
  const entry = process.platform === "linux" ? readProcess(pid) : listProcesses().find((other) => other.pid === pid);
  return entry !== undefined && entry.start === start && !entry.isDead;
}

function readProcess(pid: number): ProcessEntry | undefined {
  const { readFileSync } = process.getBuiltinModule("node:fs");
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // "pid (name) state parent group …", and a name may hold anything. The start is the 22nd field of all.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, parent, group] = fields;
    return {
      pid,
      parent: Number(parent),
      group: Number(group),
      start: fields[19]!,
      isDead: state === "Z" || state === "X",
    };
  } catch {
    return undefined; // it ended in the meantime
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
          isDead: state!.startsWith("Z"),
        };
      });
  } catch {
    return [];
  }
}
