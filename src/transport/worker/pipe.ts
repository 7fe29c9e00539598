import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Channel } from "../peer/index.ts";
import { type PortListener, readBuiltin } from "./port.ts";

/** Environment variable with the file descriptor of the pipe to the pool that started a process. */
export const pipeVariable = "ALKDEV_OPERATIONS_PIPE";

/** Maximum time that a process may run after the end of its pool, in ms. */
const graceMs = 5_000;

/**
 * Opens a channel through a pipe, with one line per frame. A line longer than `maxReceived` characters ends the
 * channel. `onMessage` receives one or more lines.
 */
export function openPipe(pipe: Duplex, maxReceived: number, { onMessage, onEnd }: PortListener): Channel {
  let held: string[] = [];
  let heldLength = 0;
  let problem: Error | undefined;
  pipe.setEncoding("utf8");
  pipe.on("data", (chunk: string) => {
    const end = chunk.lastIndexOf("\n");
    if (end >= 0) {
      onMessage(held.join("") + chunk.slice(0, end));
      held = [];
      heldLength = 0;
    }
    const rest = chunk.slice(end + 1);
    if (rest === "") return;
    held.push(rest);
    heldLength += rest.length;
    if (heldLength > maxReceived) pipe.destroy(new Error(`A message is larger than ${maxReceived} bytes`));
  });
  pipe.on("error", (error) => {
    problem = error;
  });
  pipe.on("close", () => onEnd(problem ?? new Error("The pipe was closed")));
  return {
    get bufferedAmount() {
      return pipe.writableLength;
    },
    send: (message) => void pipe.write(`${message}\n`),
    close(reason) {
      if (reason === undefined) pipe.end();
      else pipe.destroy();
    },
  };
}

/**
 * Returns the pipe to the pool that started this process; later calls return `undefined`. When the pipe ends, because
 * it was closed or the parent process died, this process also ends.
 */
export function takeParentPipe(): Socket | undefined {
  const net = readBuiltin("node:net");
  const fd = net === undefined ? undefined : process.env[pipeVariable];
  if (net === undefined || fd === undefined) return undefined;
  // Child processes must not inherit the variable.
  delete process.env[pipeVariable];
  const pipe = new net.Socket({ fd: Number(fd), readable: true, writable: true });
  pipe.on("close", () => {
    // A process without other work exits before this timeout.
    setTimeout(() => process.exit(), graceMs).unref();
  });
  return pipe;
}
