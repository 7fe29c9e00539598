/** One worker as a thread of a pool. `workerData` says which pool, and in which folder to write what happens. */
import { join } from "node:path";
import { threadId, workerData } from "node:worker_threads";
import { createWorkerTransport } from "@alkdev/operations/transport-worker";
import { createRecorder } from "../history/index.ts";
import { watchProcess } from "./instruments.ts";
import { type Skew, serveChaos, skewClock } from "./serving.ts";

const { pool, folder } = workerData as { pool: string; folder: string };
skewClock(((threadId % 3) - 1) as Skew);
const name = `${pool} thread ${threadId}`;
const recorder = createRecorder(join(folder, name), name);
watchProcess(recorder);
serveChaos(createWorkerTransport(), recorder);
