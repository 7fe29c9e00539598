import type { Duplex } from "node:stream";
import type { Channel } from "../peer/index.ts";
import type { PortListener } from "./port.ts";

/**
 * Speaks through a pipe, a line for each frame. More than `maxReceived` characters without an end of line are not
 * waited for. `onMessage` gets one line or several.
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
    send: (text) => void pipe.write(`${text}\n`),
    close(reason) {
      if (reason === undefined) pipe.end();
      else pipe.destroy();
    },
  };
}
