// Runs the TypeScript module named by `workerData.module` in a worker thread, which `tsx` alone does not reach.
import { workerData } from "node:worker_threads";
import { register } from "tsx/esm/api";

register();
await import(workerData.module);
