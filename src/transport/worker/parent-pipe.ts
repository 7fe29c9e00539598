import type { Socket } from "node:net";
import { readBuiltin } from "./builtin.ts";

/** Tells a process which of its files is the pipe to the pool that started it. */
export const pipeVariable = "ALKDEV_OPERATIONS_PIPE";

/** How long, in ms, a process may go on after its pool is gone. */
const grace = 5_000;

/**
 * The pipe to the pool that started this process, if one did; it can be taken once. When it ends, by a close or
 * because the process at the other end died, this process ends too.
 */
export function takeParentPipe(): Socket | undefined {
  const net = readBuiltin("node:net");
  const fd = net === undefined ? undefined : process.env[pipeVariable];
  if (net === undefined || fd === undefined) return undefined;
  // Not for the processes that this one starts.
  delete process.env[pipeVariable];
  const pipe = new net.Socket({ fd: Number(fd), readable: true, writable: true });
  pipe.on("close", () => {
    // Without other work the process ends by itself, before that.
    setTimeout(() => process.exit(), grace).unref();
  });
  return pipe;
}
