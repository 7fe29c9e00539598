import type { WorkerOptions } from "node:worker_threads";
import type { Limits } from "../../operation/index.ts";
import type { ChannelTransport } from "../peer/index.ts";
import { readBuiltin } from "./builtin.ts";
import type { Member } from "./member.ts";
import { attachPort } from "./worker-transport.ts";

/** Starts a thread that runs the module at `url`. */
export function startThread(
  hub: ChannelTransport,
  url: string | URL,
  options: WorkerOptions | undefined,
  limits: Limits | undefined,
): Member {
  const threads = readBuiltin("node:worker_threads");
  if (threads === undefined) throw new TypeError("Worker pools need Node.");
  const thread = new threads.Worker(url, options);
  // A link that is closed hears nothing, and an error that nobody hears would end this process.
  thread.on("error", () => {});
  const link = attachPort(hub, thread, limits);
  return {
    link,
    async end() {
      await thread.terminate();
    },
  };
}
