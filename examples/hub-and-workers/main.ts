/** Needs a NATS server, at `NATS_URL` or on 127.0.0.1:4222. `npm run examples -- hub-and-workers` starts one. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const startWorker = async () => {
  const worker = fork(fileURLToPath(new URL("worker.ts", import.meta.url)));
  await once(worker, "message");
  return worker;
};
const workers = await Promise.all([startWorker(), startWorker()]);

// #region hub
import { OperationRegistry, PendingRequestMap, peerSource } from "@alkdev/operations";
import { createNATSTransport } from "@alkdev/operations/transport-nats";

const calls = new PendingRequestMap(await createNATSTransport({ servers: process.env["NATS_URL"] }));
const hub = new OperationRegistry();
await hub.follow(peerSource(calls)); // operations of the workers, as long as they serve them
await hub.waitFor("image.resize", { timeout: 10_000 }); // returns immediately if a worker serves it

const half = await hub.execute("image.resize", { width: 640, height: 480, factor: 0.5 });
const { width, height } = half.data as { width: number; height: number };
console.log(width, height);
// #endregion hub
assert.deepEqual([width, height], [320, 240]);

// #region calls
type Resized = { worker: number };
const one = { width: 1, height: 1, factor: 2 };
const results = await Promise.all(Array.from({ length: 100 }, () => calls.call<Resized>("image.resize", one)));
console.log(new Set(results.map(({ data }) => data.worker)).size, "workers");

const missing = await calls.call("image.rotate").catch((error) => error);
console.log(missing.code, missing.message);
// #endregion calls
assert.equal(new Set(results.map(({ data }) => data.worker)).size, 2);
assert.equal(missing.code, "OPERATION_NOT_FOUND");

// #region stop
const [first, second] = workers;
first.kill("SIGTERM");
await once(first, "exit");

const { data } = await calls.call<Resized>("image.resize", one);
console.log(data.worker === second.pid ? "the second worker responds" : "no worker responds");
// #endregion stop
assert.equal(data.worker, second.pid);

second.kill("SIGTERM");
await once(second, "exit");
await calls.close();
