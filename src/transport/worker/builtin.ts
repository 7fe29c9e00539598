/** One of Node's own modules, where there are any. Asked for at run time, so that browsers load this folder too. */
export function readBuiltin<Module extends BuiltinName>(name: Module): Builtins[Module] | undefined {
  return typeof process === "object" ? (process.getBuiltinModule?.(name) as Builtins[Module] | undefined) : undefined;
}

interface Builtins {
  "node:child_process": typeof import("node:child_process");
  "node:net": typeof import("node:net");
  "node:os": typeof import("node:os");
  "node:url": typeof import("node:url");
  "node:worker_threads": typeof import("node:worker_threads");
}

type BuiltinName = keyof Builtins;
