/** One member of a worker pool, as a thread or a process. It receives its pool and the file for its history. */
import { join } from "node:path";
import { isMainThread, threadId, workerData } from "node:worker_threads";
import { createWorkerTransport } from "@alkdev/operations/transport-worker";
import { createRecorder } from "../../test/history/index.ts";
import { watchProcess } from "./instruments.ts";
import { type Skew, serveChaos, skewClock } from "./serving.ts";

const told = isMainThread ? JSON.parse(process.argv[2]!) : workerData;
const { pool, folder } = told as { pool: string; folder: string };
const number = isMainThread ? process.pid : threadId;
skewClock(((number % 3) - 1) as Skew);
const name = `${pool} member ${number}`;
const recorder = createRecorder(join(folder, name), name);
watchProcess(recorder);
process.on("SIGINT", () => {}); // Ctrl-C is for the one who started this
serveChaos(createWorkerTransport(), recorder);
