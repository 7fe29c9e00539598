/** Node's module for threads, where there is one. Asked for at run time, so that browsers load this file too. */
export function readThreads(): typeof import("node:worker_threads") | undefined {
  return typeof process === "object" ? process.getBuiltinModule?.("node:worker_threads") : undefined;
}
