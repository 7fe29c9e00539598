import { readFileSync } from "node:fs";

/** Returns whether a process runs. A process that ended and whose parent has not collected it yet does not run. */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
