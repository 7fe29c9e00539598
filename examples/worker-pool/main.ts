import assert from "node:assert/strict";

// #region pool
import { PendingRequestMap } from "@alkdev/operations";
import { createWorkerPool } from "@alkdev/operations/transport-worker";

const pool = await createWorkerPool(new URL("worker.mjs", import.meta.url), { size: 2 });
const calls = new PendingRequestMap(pool);

const answers = await Promise.all(
  [10_000, 20_000, 30_000, 40_000].map((below) =>
    calls.call<{ count: number; thread: number }>("math.countPrimes", { below }),
  ),
);
console.log(answers.map(({ data }) => data.count));
console.log(new Set(answers.map(({ data }) => data.thread)).size, "threads");
// #endregion pool
assert.deepEqual(
  answers.map(({ data }) => data.count),
  [1229, 2262, 3245, 4203],
);
assert.equal(new Set(answers.map(({ data }) => data.thread)).size, 2);

// #region crash
const failure = await calls.call("math.crash", {}).catch((error) => error);
console.log(failure.code, failure.message);
console.log({ retryable: failure.retryable, mayHaveRun: failure.mayHaveRun });

const { data } = await calls.call<{ count: number }>("math.countPrimes", { below: 100 });
console.log(data.count, "primes, from the other thread");

await calls.close();
// #endregion crash
assert.equal(failure.code, "UNAVAILABLE");
assert.equal(data.count, 25);
assert.equal(pool.size, 0);
