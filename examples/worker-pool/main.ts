import assert from "node:assert/strict";

// #region pool
import { OperationRegistry, peerSource } from "@alkdev/operations";
import { createWorkerPool } from "@alkdev/operations/transport-worker";

const registry = new OperationRegistry();
await registry.follow(peerSource(await createWorkerPool(new URL("worker.mjs", import.meta.url), { size: 2 })));

const results = await Promise.all(
  [10_000, 20_000, 30_000, 40_000].map((below) =>
    registry.execute<{ count: number; worker: string }>("math.countPrimes", { below }),
  ),
);
console.log(results.map(({ data }) => data.count));
console.log(new Set(results.map(({ data }) => data.worker)).size, "workers");
// #endregion pool
assert.deepEqual(
  results.map(({ data }) => data.count),
  [1229, 2262, 3245, 4203],
);
assert.equal(new Set(results.map(({ data }) => data.worker)).size, 2);

// #region crash
const failure = await registry.execute("math.crash").catch((error) => error);
console.log(failure.code, failure.message);
console.log({ retryable: failure.retryable, mayHaveRun: failure.mayHaveRun });

const { data } = await registry.execute<{ count: number }>("math.countPrimes", { below: 100 });
console.log(data.count, "primes, from the other worker");

await registry.close(); // ends the pool too
// #endregion crash
assert.equal(failure.code, "UNAVAILABLE");
assert.equal(data.count, 25);

// #region processes
const pool = await createWorkerPool(new URL("worker.ts", import.meta.url), {
  kind: "process",
  size: 2,
  process: { env: { PATH: process.env["PATH"] } }, // without it, the whole environment of this process
});
const apart = new OperationRegistry();
await apart.follow(peerSource(pool));

const crashed = await apart.execute("math.crash").catch((error) => error);
console.log(crashed.message);
await apart.close();
// #endregion processes
assert.match(crashed.message, /The worker ended with code 1/);
assert.equal(pool.size, 0);
