/** A worker thread. It receives its name and the folder for its history. */
import { join } from "node:path";
import { threadId, workerData } from "node:worker_threads";
import { createWorkerTransport } from "@alkdev/operations/transport-worker";
import { createRecorder } from "../../test/history/index.ts";
import { watchProcess } from "./instruments.ts";
import { type Skew, serveChaos, skewClock } from "./serving.ts";

const { name, folder } = workerData as { name: string; folder: string };
skewClock(((threadId % 3) - 1) as Skew);
const recorder = createRecorder(join(folder, name), name);
watchProcess(recorder);
serveChaos(createWorkerTransport(), recorder);
