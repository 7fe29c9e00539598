import assert from "node:assert/strict";

// #region start
import { Worker } from "node:worker_threads";
import { OperationRegistry, peerSource } from "@alkdev/operations";
import { createWorkerTransport } from "@alkdev/operations/transport-worker";

const worker = new Worker(new URL("worker.mjs", import.meta.url));
const registry = new OperationRegistry();
await registry.follow(peerSource(createWorkerTransport(worker)));
await registry.waitFor("math.countPrimes", { timeout: 60_000 }); // the worker is starting

const { data } = await registry.execute<{ count: number }>("math.countPrimes", { below: 10_000 });
console.log(data.count, "primes");
// #endregion start
assert.equal(data.count, 1229);

// #region crash
const failure = await registry.execute("math.crash").catch((error) => error);
console.log(failure.code, failure.message);
console.log({ retryable: failure.retryable, mayHaveRun: failure.mayHaveRun });
// #endregion crash
assert.equal(failure.code, "UNAVAILABLE");
await registry.close();
await worker.terminate();
