/** The server of a soak, in its own process or thread. Ends when it receives `close`. */
import { once } from "node:events";
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { watchPeak } from "./memory.ts";
import { listResources, resourcesSince } from "./resources.ts";
import { startServing } from "./serving.ts";
import type { ServerOrder, Word } from "./side.ts";

const { transport, port }: ServerOrder = isMainThread ? JSON.parse(process.argv[2]!) : workerData;
const say = (word: Word) => process.send!(word);
const before = listResources();
watchPeak();
const serving = await startServing(transport, port);

if (isMainThread) {
  const leave = () => process.exit(1); // its parent is gone and cannot close it
  process.once("disconnect", leave);
  say({ kind: "ready", port: serving.port ?? port });
  await once(process, "message");
  process.off("disconnect", leave);
  await serving.close();
  const left = await resourcesSince(before);
  say({ kind: "closed", problems: left.length === 0 ? [] : [`the server left ${left.join(", ")}`] });
  process.disconnect();
} else {
  parentPort!.on("message", async (message: { kind?: string }) => {
    if (message.kind === "close") await serving.close();
  });
}
