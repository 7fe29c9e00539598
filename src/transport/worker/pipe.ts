import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Channel } from "../peer/index.ts";
import { type PortListener, readBuiltin } from "./port.ts";

/** Environment variable with the file descriptor of the pipe to the pool that started a process. */
export const pipeVariable = "ALKDEV_OPERATIONS_PIPE";

/** How long, in ms, a process may run after its pool is gone. */
const graceMs = 5_000;

/**
 * Opens a channel through a pipe, with one line per frame. A line of more than `maxReceived` characters ends it.
 * `onMessage` receives one line or several.
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
 * The pipe to the pool that started this process, if one did; it can be taken once. When it ends, by a close or
 * because the process at the other end died, this process ends too.
 */
export function takeParentPipe(): Socket | undefined {
  const net = readBuiltin("node:net");
  const fd = net === undefined ? undefined : process.env[pipeVariable];
  if (net === undefined || fd === undefined) return undefined;
  // Processes that this one starts must not inherit it.
  delete process.env[pipeVariable];
  const pipe = new net.Socket({ fd: Number(fd), readable: true, writable: true });
  pipe.on("close", () => {
    // Without other work the process ends before that.
    setTimeout(() => process.exit(), graceMs).unref();
  });
  return pipe;
}
