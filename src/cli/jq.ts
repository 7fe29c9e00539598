import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

/** jq in a thread of its own, because a filter may never end. */
export interface JQ {
  /** Returns what a filter selects in a JSON document, one value per line. Call it again after it has settled. */
  run(json: string, filter: string): Promise<string>;
  /** Ends the thread, also while a filter runs. */
  close(): Promise<unknown>;
}

const role = "operations-jq";

/** Starts the thread. It loads this module again, which therefore imports nothing of the command. */
export function startJQ(): JQ {
  const worker = new Worker(new URL(import.meta.url), { workerData: role });
  return {
    run: (json, filter) =>
      new Promise((resolve, reject) => {
        worker.once("error", reject).once("message", ({ lines, reason }) => {
          worker.off("error", reject);
          if (reason === undefined) resolve(lines);
          else reject(new Error(reason));
        });
        worker.postMessage({ json, filter });
      }),
    close: () => worker.terminate(),
  };
}

if (!isMainThread && workerData === role) {
  const { default: jq } = await import("jq-wasm");
  parentPort!.on("message", ({ json, filter }: { json: string; filter: string }) => {
    jq.raw(json, filter, ["-c"]).then(
      (lines) => parentPort!.postMessage({ lines }),
      (error: Error) => parentPort!.postMessage({ reason: error.message }),
    );
  });
}
